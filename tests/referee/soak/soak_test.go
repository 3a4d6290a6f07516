package soak

import (
	"os"
	"testing"
)

func TestWhatIsTooMuchIsNamed(t *testing.T) {
	first := usage{memory: 40_000, descriptors: 20, threads: 5}
	for _, one := range []struct {
		last usage
		what string
	}{
		{usage{41_000, 20, 5}, ""},
		{usage{41_000, 30, 5}, "descriptors"},
		{usage{41_000, 20, 6}, "threads"},
		{usage{120_000, 20, 5}, "memory"},
	} {
		if what := one.last.isMore(first); what != one.what {
			t.Errorf("%s: %q instead of %q", one.last, what, one.what)
		}
	}
}

func TestTheUsageOfAProcess(t *testing.T) {
	before, err := usageOf(os.Getpid())
	if err != nil || before.memory == 0 || before.descriptors == 0 || before.threads == 0 {
		t.Fatalf("%s %v", before, err)
	}
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if after, _ := usageOf(os.Getpid()); after.descriptors != before.descriptors+1 {
		t.Errorf("%s, then %s", before, after)
	}
}
