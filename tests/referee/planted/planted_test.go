package planted

import (
	"os"
	"regexp"
	"testing"
)

func TestEachMistakeIsSoughtAndEachIsPlanted(t *testing.T) {
	text, err := os.ReadFile("mistakes.cmake")
	if err != nil {
		t.Fatal(err)
	}
	planted := map[string]bool{}
	for _, found := range regexp.MustCompile(`holdfast_planted\(\\"(\w+)\\"\)`).FindAllSubmatch(text, -1) {
		planted[string(found[1])] = true
	}
	if len(planted) < 25 || len(planted) != len(Mistakes) {
		t.Errorf("%d mistakes are planted, and %d are sought", len(planted), len(Mistakes))
	}
	for _, one := range Mistakes {
		if !planted[one.Name] {
			t.Errorf("%s is not planted", one.Name)
		}
	}
}
