package judge

// A violation as text and as time lines.

import (
	"fmt"
	"html"
	"sort"
	"strings"

	"holdfast/tests/referee/history"
)

// Describe is one line about an operation.
func Describe(op *history.Operation) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s", op.Kind, strings.Join(op.Scopes, ", "))
	if op.Shared {
		text.WriteString(" shared")
	}
	if op.Limit > 1 {
		fmt.Fprintf(&text, " limit %d", op.Limit)
	}
	if op.TTLms > 0 {
		fmt.Fprintf(&text, " ttl %g s", float64(op.TTLms)/1000)
	}
	if op.WaitMs > 0 {
		fmt.Fprintf(&text, " wait %g s", float64(op.WaitMs)/1000)
	}
	if op.Fence > 0 {
		fmt.Fprintf(&text, " %d", op.Fence)
	}
	if op.Value != "" {
		fmt.Fprintf(&text, " value %q", op.Value)
	}
	if op.Request != "" {
		fmt.Fprintf(&text, " request %s", op.Request)
	}
	return text.String() + ": " + describeAnswer(op)
}

func describeAnswer(op *history.Operation) string {
	text := string(op.Outcome)
	if op.Number > 0 {
		text += fmt.Sprintf(", number %d", op.Number)
	}
	if op.Holder != "" {
		text += ", held by " + op.Holder
	}
	if op.Free {
		text += ", free"
	}
	if op.Revision > 0 {
		text += fmt.Sprintf(", revision %d", op.Revision)
	}
	if op.Content != "" {
		text += fmt.Sprintf(", content %q", op.Content)
	}
	if op.Text != "" {
		text += " (" + op.Text + ")"
	}
	return text
}

// Text tells a violation.
func (p Part) Text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "No order explains what was answered about %s:\n\n", p.Scope)
	for _, op := range p.Operations {
		mark := " "
		if p.Culprit != nil && op.ID == p.Culprit.ID {
			mark = "!"
		}
		fmt.Fprintf(&text, "%s %s  %-14s %s\n", mark, span(op), op.Owner, Describe(op))
	}
	if p.Culprit == nil {
		return text.String()
	}
	fmt.Fprintf(&text, "\nThe answer marked with ! fits nowhere. Directly before it, this is what can be:\n")
	for i, state := range p.Before {
		if i == 5 {
			fmt.Fprintf(&text, "  and %d more\n", len(p.Before)-i)
			break
		}
		fmt.Fprintf(&text, "  %v\n", state)
	}
	return text.String()
}

func span(op *history.Operation) string {
	if op.Return == history.Never {
		return fmt.Sprintf("%12s .. %12s", moment(op.Call), "?")
	}
	return fmt.Sprintf("%12s .. %12s", moment(op.Call), moment(op.Return))
}

const (
	rowHeight   = 46
	leftMargin  = 150
	momentWidth = 74
)

var colours = map[history.Outcome]string{history.OK: "#2e9e5b", history.Refused: "#d9982b", history.Unknown: "#8b93a1"}

// Picture draws operations as an SVG: one row for each owner, a bar from call to return, and a thin line for as long as its client was
// sure of the lease. Moments stand at equal distances, with their times below.
func Picture(operations []*history.Operation, culprit *history.Operation, title string) string {
	ends := sureEnds(operations)
	places, times := placesOf(operations, ends)
	rows, owners := rowsOf(operations)
	width, height := leftMargin+momentWidth*(len(times)+1), 70+rowHeight*len(owners)
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11" role="img" aria-label="%s">`+"\n",
		width, height, html.EscapeString(title))
	svg.WriteString(dark)
	fmt.Fprintf(&svg, `<rect width="100%%" height="100%%" fill="#ffffff"/><text x="8" y="18" font-size="13">%s</text>`+"\n",
		html.EscapeString(title))
	for i, at := range times {
		x := leftMargin + momentWidth*i
		fmt.Fprintf(&svg, `<line x1="%d" y1="28" x2="%d" y2="%d" stroke="#e3e6ea"/>`, x, x, height-24)
		fmt.Fprintf(&svg, `<text x="%d" y="%d" fill="#667" text-anchor="middle">%s</text>`+"\n", x, height-8, moment(at))
	}
	for i, owner := range owners {
		fmt.Fprintf(&svg, `<text x="8" y="%d">%s</text>`+"\n", 52+rowHeight*i, html.EscapeString(owner))
	}
	for _, op := range operations {
		drawBar(&svg, op, places, rows[op.Owner], width, culprit != nil && op.ID == culprit.ID)
		if end, sure := ends[op.ID]; sure {
			y := 66 + rowHeight*rows[op.Owner]
			fmt.Fprintf(&svg, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#2e6bd9" stroke-width="3"/>`+"\n",
				places[op.Return], y, endPlace(places, end, width), y)
		}
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

// What is drawn on the page itself follows its colours; the bars keep theirs.
const dark = `<style>@media (prefers-color-scheme: dark) {svg > rect {fill: #161b22} svg > text {fill: #d0d7de} svg > line[stroke="#e3e6ea"] {stroke: #30363d}}</style>` + "\n"

func drawBar(svg *strings.Builder, op *history.Operation, places map[int64]int, row, width int, isCulprit bool) {
	x, y := places[op.Call], 38+rowHeight*row
	end := endPlace(places, op.Return, width)
	stroke := "none"
	if isCulprit {
		stroke = "#d92c2c"
	}
	fmt.Fprintf(svg, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="22" rx="3" fill="%s" stroke="%s" stroke-width="3"/>`,
		html.EscapeString(Describe(op)), x, y, end-x, colours[op.Outcome], stroke)
	label := string(op.Kind)
	if op.Number > 0 {
		label += " " + shortNumber(op.Number)
	}
	fmt.Fprintf(svg, `<text x="%d" y="%d" fill="#ffffff">%s</text></g>`+"\n", x+4, y+15, html.EscapeString(label))
}

func endPlace(places map[int64]int, at int64, width int) int {
	if place, known := places[at]; known {
		return place
	}
	return width - 10
}

func placesOf(operations []*history.Operation, ends map[int]int64) (map[int64]int, []int64) {
	seen := map[int64]bool{}
	for _, op := range operations {
		seen[op.Call] = true
		if op.Return != history.Never {
			seen[op.Return] = true
		}
		if end, sure := ends[op.ID]; sure && end != endless {
			seen[end] = true
		}
	}
	var times []int64
	for at := range seen {
		times = append(times, at)
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	places := map[int64]int{}
	for i, at := range times {
		places[at] = leftMargin + momentWidth*i
	}
	return places, times
}

func rowsOf(operations []*history.Operation) (map[string]int, []string) {
	rows := map[string]int{}
	var owners []string
	for _, op := range operations {
		if _, known := rows[op.Owner]; !known {
			rows[op.Owner] = len(owners)
			owners = append(owners, op.Owner)
		}
	}
	return rows, owners
}

func sureEnds(operations []*history.Operation) map[int]int64 {
	ends := map[int]int64{}
	if len(operations) == 0 || isFence(operations[0]) {
		return ends
	}
	locks, err := NewLocks(operations)
	if err != nil {
		return ends
	}
	for _, b := range beliefsOf(operations, locks) {
		ends[b.op.ID] = b.ends
	}
	return ends
}

// shortNumber is what tells numbers of one picture from each other: fencing numbers begin with the microseconds of the clock.
func shortNumber(number uint64) string {
	text := fmt.Sprint(number)
	if len(text) > 6 {
		return "…" + text[len(text)-3:]
	}
	return text
}
