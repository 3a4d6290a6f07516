// referee judges what clients of a lock server were told. docs/referee.md explains it.
//
//	referee judge history.jsonl            a history that was recorded before, by any program
//
// It ends with 0 if the history is one that a lock server may have, with 1 if it is not, and with 2 if it could not be judged.
package main

import (
	"flag"
	"fmt"
	"os"

	"holdfast/tests/referee/history"
	"holdfast/tests/referee/judge"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say what to do: judge"))
	}
	switch os.Args[1] {
	case "judge":
		os.Exit(judgeFile(os.Args[2:]))
	default:
		fail(fmt.Errorf("unknown command %q: judge", os.Args[1]))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "referee:", err)
	os.Exit(2)
}

func judgeFile(arguments []string) int {
	flags := flag.NewFlagSet("judge", flag.ExitOnError)
	out := flags.String("out", ".", "folder for pictures of violations")
	budget := flags.Int("budget", judge.DefaultBudget, "how many states to look at for one lock before giving up")
	_ = flags.Parse(arguments)
	if flags.NArg() != 1 {
		fail(fmt.Errorf("name one file of a history"))
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		fail(err)
	}
	defer file.Close()
	h, err := history.Parse(file)
	if err != nil {
		fail(err)
	}
	return report(h, *budget, *out, "again: referee judge "+flags.Arg(0))
}

// report judges, prints and says how the program ends.
func report(h *history.History, budget int, out, repeat string) int {
	verdict, err := judge.Judge(h, budget)
	if err != nil {
		fail(err)
	}
	fmt.Print(verdict.Text(h))
	if verdict.IsGood() {
		return 0
	}
	shown, err := verdict.Show(out, repeat)
	if err != nil {
		fail(err)
	}
	fmt.Printf("\n%s\npictures are in %s\n", shown, out)
	return 1
}
