// The last minutes of a number, second by second, for the small charts.

export const SERIES_LENGTH = 120;

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

/** The mean of the last `seconds` values; 0 if there are none. */
export function recentMean(values, seconds) {
  const recent = values.slice(-seconds);
  return recent.length === 0 ? 0 : recent.reduce((sum, value) => sum + value, 0) / recent.length;
}

/** A line through the values, in a box of this size, the newest at the right: the points of a polyline. */
export function linePoints(values, width, height) {
  const top = Math.max(1, ...values);
  const step = width / (SERIES_LENGTH - 1);
  const start = width - (values.length - 1) * step;
  return values
    .map((value, index) => {
      const y = height - 1 - (value / top) * (height - 2);
      return `${(start + index * step).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}

/** The same line, closed along the bottom of the box, to be filled. */
export function areaPoints(points, height) {
  if (points === '') return '';
  const all = points.split(' ');
  return `${all[0].split(',')[0]},${height} ${points} ${all.at(-1).split(',')[0]},${height}`;
}
