package network

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMain runs the tests in a network namespace of their own, where that is permitted.
func TestMain(m *testing.M) {
	if IsInside() {
		os.Exit(m.Run())
	}
	code, err := Again()
	if err != nil {
		fmt.Printf("*** SKIPPED: no network namespaces can be made here: %v ***\n", err)
		os.Exit(0)
	}
	os.Exit(code)
}

func TestALinkIsLostInOneDirectionAndHealed(t *testing.T) {
	n, err := New(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer n.End()
	var places []*Place
	for i := 0; i < 2; i++ {
		place, err := n.Add()
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	a, b := places[0], places[1]
	if !arrives(t, a, b) || !arrives(t, b, a) {
		t.Fatal("the places do not reach each other")
	}
	if err := Lose(a, b); err != nil {
		t.Fatal(err)
	}
	if arrives(t, a, b) {
		t.Error("what is lost has arrived")
	}
	if !arrives(t, b, a) {
		t.Error("the other direction is lost, too")
	}
	if err := Heal(a, b); err != nil {
		t.Fatal(err)
	}
	if !arrives(t, a, b) {
		t.Error("the link is not healed")
	}
}

// arrives is true if something that is sent from one place reaches the other. It sends datagrams: these need no answer.
func arrives(t *testing.T, from, to *Place) bool {
	t.Helper()
	arrived := make(chan bool, 1)
	receiver := at(to, "TestReceiver")
	receiver.Env = append(os.Environ(), "REFEREE_RECEIVES_AT="+to.Host+":9")
	output, err := receiver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = receiver.Process.Kill(); _ = receiver.Wait() }()
	go func() {
		letter := make([]byte, 1)
		_, err := io.ReadFull(output, letter)
		arrived <- err == nil && letter[0] == '!'
	}()
	for i := 0; i < 15; i++ {
		sender := at(from, "TestSender")
		sender.Env = append(os.Environ(), "REFEREE_SENDS_TO="+to.Host+":9")
		_ = sender.Run()
		select {
		case is := <-arrived:
			return is
		case <-time.After(50 * time.Millisecond):
		}
	}
	return false
}

// at is a command that runs one of the tests below at a place.
func at(place *Place, test string) *exec.Cmd {
	itself, _ := os.Executable()
	words := append(place.Prefix(), itself, "-test.run", test)
	return exec.Command(words[0], words[1:]...)
}

func TestReceiver(t *testing.T) {
	address := os.Getenv("REFEREE_RECEIVES_AT")
	if address == "" {
		t.Skip("for another test")
	}
	connection, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := connection.ReadFrom(make([]byte, 10)); err == nil {
		fmt.Print("!")
	}
}

func TestSender(t *testing.T) {
	address := os.Getenv("REFEREE_SENDS_TO")
	if address == "" {
		t.Skip("for another test")
	}
	if connection, err := net.Dial("udp", address); err == nil {
		_, _ = connection.Write([]byte("x"))
	}
}
