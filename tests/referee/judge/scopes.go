package judge

// Scopes as cells. A cell is the smallest part that a lock can cover: a name, a path, a semaphore, or the bytes of a file between
// two borders that some request of the history has. A range is then a set of cells, two ranges overlap if they share one, and
// the specification of locks knows nothing but cells.

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"holdfast/tests/referee/history"
)

// scope is one scope in its parts. Base is what must be judged together: the file of a range.
type scope struct {
	base       string
	start, end uint64 // of a range; the whole file is 0 to math.MaxUint64
	isFile     bool
}

func parseScope(text string) (scope, error) {
	kind, rest, hasKind := strings.Cut(text, ":")
	if !hasKind {
		return scope{base: "named:" + text}, nil
	}
	switch kind {
	case "named", "semaphore", "path":
		return scope{base: text}, nil
	case "inode":
		return scope{base: "inode:" + rest, end: math.MaxUint64, isFile: true}, nil
	case "range":
		return parseRange(text, rest)
	}
	return scope{base: "named:" + text}, nil
}

func parseRange(text, rest string) (scope, error) {
	inode, bytes, _ := strings.Cut(rest, ":")
	from, to, hasEnd := strings.Cut(bytes, "-")
	start, err := strconv.ParseUint(from, 10, 64)
	if err != nil || !hasEnd {
		return scope{}, fmt.Errorf("%q is no range", text)
	}
	end := uint64(math.MaxUint64)
	if to != "" {
		if end, err = strconv.ParseUint(to, 10, 64); err != nil {
			return scope{}, fmt.Errorf("%q is no range", text)
		}
	}
	return scope{base: "inode:" + inode, start: start, end: end, isFile: true}, nil
}

// cellMap numbers the cells of a history.
type cellMap struct {
	first   map[string]int      // the number of the first cell of a base
	borders map[string][]uint64 // of a file, sorted
	names   []string
}

func newCellMap(scopes []string) (*cellMap, error) {
	m := &cellMap{first: map[string]int{}, borders: map[string][]uint64{}}
	var bases []string
	for _, text := range scopes {
		parsed, err := parseScope(text)
		if err != nil {
			return nil, err
		}
		if _, known := m.first[parsed.base]; !known {
			m.first[parsed.base] = 0
			bases = append(bases, parsed.base)
		}
		if parsed.isFile {
			m.borders[parsed.base] = append(m.borders[parsed.base], 0, parsed.start, parsed.end)
		}
	}
	sort.Strings(bases)
	for _, base := range bases {
		m.first[base] = len(m.names)
		if borders, isFile := m.borders[base]; isFile {
			m.borders[base] = sortedOnce(borders)
			for _, border := range m.borders[base] {
				m.names = append(m.names, fmt.Sprintf("%s from %d", base, border))
			}
		} else {
			m.names = append(m.names, base)
		}
	}
	return m, nil
}

func sortedOnce(numbers []uint64) []uint64 {
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
	var once []uint64
	for _, number := range numbers {
		if len(once) == 0 || once[len(once)-1] != number {
			once = append(once, number)
		}
	}
	return once
}

// cells of the scopes of one request, sorted. REQUIRES: the map was made with these scopes.
func (m *cellMap) cells(scopes []string) []int {
	var cells []int
	for _, text := range scopes {
		parsed, _ := parseScope(text)
		first := m.first[parsed.base]
		if !parsed.isFile {
			cells = append(cells, first)
			continue
		}
		for i, border := range m.borders[parsed.base] {
			if border >= parsed.start && border < parsed.end {
				cells = append(cells, first+i)
			}
		}
	}
	sort.Ints(cells)
	return cells
}

// parts cuts operations into groups that have nothing to do with each other: other locks, never named in one request.
func parts(operations []*history.Operation) ([][]*history.Operation, error) {
	parent := map[string]string{}
	var find func(base string) string
	find = func(base string) string {
		if parent[base] != base {
			parent[base] = find(parent[base])
		}
		return parent[base]
	}
	for _, op := range operations {
		if len(op.Scopes) == 0 {
			return nil, fmt.Errorf("operation %d has no scope", op.ID)
		}
		var root string
		for i, text := range op.Scopes {
			parsed, err := parseScope(text)
			if err != nil {
				return nil, err
			}
			if _, known := parent[parsed.base]; !known {
				parent[parsed.base] = parsed.base
			}
			if i == 0 {
				root = find(parsed.base)
			} else {
				parent[find(parsed.base)] = root
			}
		}
	}
	groups := map[string][]*history.Operation{}
	var order []string
	for _, op := range operations {
		parsed, _ := parseScope(op.Scopes[0])
		root := find(parsed.base)
		if len(groups[root]) == 0 {
			order = append(order, root)
		}
		groups[root] = append(groups[root], op)
	}
	var cut [][]*history.Operation
	for _, root := range order {
		cut = append(cut, groups[root])
	}
	return cut, nil
}
