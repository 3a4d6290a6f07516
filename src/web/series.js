// The last ten minutes of a number, second by second, for the small charts.

export const SERIES_LENGTH = 600;
// A chart draws the mean of so many seconds as one point.
const POINT_SECONDS = 5;

export function createSeries() {
  return { held: [], waiting: [], grants: [], expiries: [], commit: [] };
}

/** One second has passed: adds a value to each, and forgets the oldest. */
export function tick(series, sample) {
  for (const [name, value] of Object.entries(sample)) {
    series[name].push(value);
    if (series[name].length > SERIES_LENGTH) series[name].shift();
  }
}

/**
 * Takes in the seconds before now from elsewhere: they replace what is there, and go before it where they reach back
 * further.
 */
export function refill(series, rebuilt) {
  for (const name of Object.keys(series)) {
    const values = rebuilt[name];
    if (values === undefined) continue;
    const older = series[name].slice(0, Math.max(0, series[name].length - values.length));
    series[name] = [...older, ...values].slice(-SERIES_LENGTH);
  }
}

/** The mean of the last `seconds` values; 0 if there are none. */
export function recentMean(values, seconds) {
  const recent = values.slice(-seconds);
  return recent.length === 0 ? 0 : recent.reduce((sum, value) => sum + value, 0) / recent.length;
}

/**
 * A line through the values of the seconds until `now`, in a box of this size, the newest at the right: the points
 * of a polyline. The same seconds are always one point, so that the line moves and does not flicker.
 */
export function linePoints(values, width, height, now = 0) {
  const means = [];
  const phase = Math.floor(now / 1000) % POINT_SECONDS;
  for (let end = values.length; end > 0;) {
    const start = Math.max(0, end - (end === values.length && phase > 0 ? phase : POINT_SECONDS));
    const part = values.slice(start, end);
    means.unshift({
      at: (start + end - 1) / 2,
      mean: part.reduce((sum, value) => sum + value, 0) / part.length,
    });
    end = start;
  }
  const top = Math.max(1, ...means.map(({ mean }) => mean));
  const step = width / (SERIES_LENGTH - 1);
  return means
    .map(({ at, mean }) => {
      const x = width - (values.length - 1 - at) * step;
      const y = height - 1 - (mean / top) * (height - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}

/** The same line, closed along the bottom of the box, to be filled. */
export function areaPoints(points, height) {
  if (points === '') return '';
  const all = points.split(' ');
  return `${all[0].split(',')[0]},${height} ${points} ${all.at(-1).split(',')[0]},${height}`;
}
