package holdfast_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The story in the README is the Example of the tests, which has run.
func TestTheReadmeTellsWhatRan(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must(t, err)
	example, err := os.ReadFile("example_test.go")
	must(t, err)
	story := find(t, string(example), `(?s)\nfunc Example\(\) \{\n(.*?)\n\t// Output:\n(.*?)\n}\n`)
	told := find(t, string(readme), "(?s)```go\n(.*?)\n```.*?```text\n(.*?)\n```")
	code := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(story[1], "")
	if code != told[1] {
		t.Error("the README has other code than the Example")
	}
	output := strings.ReplaceAll(story[2], "\t// ", "")
	if output != told[2] {
		t.Error("the README has another output than the Example")
	}
}

func find(t testing.TB, text, pattern string) []string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("there is no %s", pattern)
	}
	return found
}
