package holdfast_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
)

// lockState is a lock as /v1/locks shows it.
type lockState struct {
	Held         bool   `json:"held"`
	Owner        string `json:"owner_id"`
	FencingToken uint64 `json:"fencing_token"`
	QueueLength  int    `json:"queue_length"`
	Queue        []struct {
		Owner string `json:"owner_id"`
	} `json:"queue"`
}

// stateOf asks the server without the client that is tested.
func stateOf(t testing.TB, s *server, name string) lockState {
	t.Helper()
	response, err := http.Get(s.url() + "/v1/locks/" + url.PathEscape(name) + "?queue=true")
	must(t, err)
	defer response.Body.Close()
	var state lockState
	must(t, json.NewDecoder(response.Body).Decode(&state))
	return state
}

func untilQueued(t testing.TB, s *server, name string, count int) {
	t.Helper()
	until(t, "the queue has that length", func() bool { return stateOf(t, s, name).QueueLength == count })
}
