package holdfast

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// splitScope splits the text of a scope into its kind and the rest. A text without a known kind in
// front is a name.
func splitScope(scope string) (kind, rest string) {
	if !hasKind(scope) {
		return "named", scope
	}
	kind, rest, _ = strings.Cut(scope, ":")
	return kind, rest
}

// hasKind is true if one of the kinds is in front of the text.
func hasKind(text string) bool {
	kind, _, found := strings.Cut(text, ":")
	switch kind {
	case "named", "semaphore", "path", "inode", "range":
		return found
	}
	return false
}

// withLimit is the text of the scope that a request with this limit is for: a name with a limit
// above 1 is a semaphore.
func withLimit(scope string, limit int) (string, error) {
	kind, rest := splitScope(scope)
	switch {
	case limit < 0:
		return "", invalid("a limit cannot be negative")
	case kind == "semaphore" && limit == 0:
		return "", invalid(scope + " needs a limit")
	case limit <= 1 || kind == "semaphore":
		return scope, nil
	case kind != "named":
		return "", invalid("only a name can be a semaphore: " + scope)
	}
	return "semaphore:" + rest, nil
}

// scopeJSON is a scope as the server shows it.
type scopeJSON struct {
	Kind  string  `json:"kind"`
	Name  string  `json:"name"`
	Path  string  `json:"path"`
	Inode uint64  `json:"inode"`
	Start uint64  `json:"start"`
	End   *uint64 `json:"end"`
}

// String is the text form, the same that requests have.
func (s scopeJSON) String() string {
	switch s.Kind {
	case "":
		return ""
	case "named":
		if hasKind(s.Name) {
			return "named:" + s.Name
		}
		return s.Name
	case "path":
		return "path:" + s.Path
	case "inode":
		return "inode:" + strconv.FormatUint(s.Inode, 10)
	case "range":
		text := "range:" + strconv.FormatUint(s.Inode, 10) + ":" + strconv.FormatUint(s.Start, 10) + "-"
		if s.End != nil {
			text += strconv.FormatUint(*s.End, 10)
		}
		return text
	}
	return s.Kind + ":" + s.Name
}

// requireUTF8 refuses texts that JSON cannot carry. (The JSON encoder would replace their bytes, and
// so make one name of two.)
func requireUTF8(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return invalid(strconv.Quote(text) + " is not UTF-8, which the server speaks")
		}
	}
	return nil
}
