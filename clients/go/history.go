package holdfast

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// HistoryFilter says which leases are wanted. The zero value means all that the server remembers.
type HistoryFilter struct {
	Scope  string // of one lock
	Prefix string // of the names of the locks
	Owner  string
	Since  time.Time
	Until  time.Time
	Limit  int    // how many leases a request asks for
	After  string // where to go on, as the server called it
}

func (f HistoryFilter) query() string {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" && value != "0" {
			values.Set(name, value)
		}
	}
	set("scope", f.Scope)
	set("prefix", f.Prefix)
	set("owner", f.Owner)
	if !f.Since.IsZero() {
		values.Set("since", strconv.FormatInt(f.Since.UnixMilli(), 10))
	}
	if !f.Until.IsZero() {
		values.Set("until", strconv.FormatInt(f.Until.UnixMilli(), 10))
	}
	set("limit", strconv.Itoa(f.Limit))
	set("after", f.After)
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// HistoryEntry is a lease that has ended.
type HistoryEntry struct {
	Scope        string      // as a text; of a set, the first one
	Scopes       []SetMember // all of them
	Owner        string
	Door         string // where it was granted
	Shared       bool
	FencingToken uint64
	Waited       time.Duration // in the queue
	AcquiredAt   time.Time     // by the server's clock, as the next
	EndedAt      time.Time
	Ended        string // released, expired, forced, session or restart
	Metadata     string
	GrantedBy    string // who has asked for the grant: an access token, or a door and an address; "" if unknown
	EndedBy      string // who has asked for the end; "" if nobody has
}

// historyJSON is an entry as the server shows it.
type historyJSON struct {
	FencingToken uint64     `json:"fencing_token"`
	Scope        scopeJSON  `json:"scope"`
	Scopes       scopesJSON `json:"scopes"`
	Holder       string     `json:"holder"`
	Door         string     `json:"door"`
	Mode         string     `json:"mode"`
	WaitedMs     int64      `json:"waited_ms"`
	AcquiredAt   string     `json:"acquired_at"`
	EndedAt      string     `json:"ended_at"`
	Ended        string     `json:"ended"`
	Metadata     string     `json:"metadata"`
	GrantedBy    string     `json:"granted_by"`
	EndedBy      string     `json:"ended_by"`
}

func (h historyJSON) entry() HistoryEntry {
	only := SetMember{Scope: h.Scope.String(), Shared: h.Mode == "shared"}
	return HistoryEntry{
		Scope:        only.Scope,
		Scopes:       h.Scopes.orOnly(only),
		Owner:        h.Holder,
		Door:         h.Door,
		Shared:       only.Shared,
		FencingToken: h.FencingToken,
		Waited:       time.Duration(h.WaitedMs) * time.Millisecond,
		AcquiredAt:   readTime(h.AcquiredAt),
		EndedAt:      readTime(h.EndedAt),
		Ended:        h.Ended,
		Metadata:     h.Metadata,
		GrantedBy:    h.GrantedBy,
		EndedBy:      h.EndedBy,
	}
}

// History calls each with every lease that has ended and that the server remembers, the newest first,
// until each returns an error. That error is returned. A server that keeps no history refuses with an
// [ErrBadRequest] whose code is HistoryOff.
func (c *Client) History(ctx context.Context, filter HistoryFilter, each func(HistoryEntry) error) error {
	for {
		answer, err := c.get(ctx, "/v1/history"+filter.query())
		if err != nil {
			return err
		}
		if answer.History == nil {
			return notHoldfast(answer.server, answer.status, "the answer is no history")
		}
		for _, ended := range *answer.History {
			if err := each(ended.entry()); err != nil {
				return err
			}
		}
		if filter.After, err = answer.nextPage(filter.After); err != nil || filter.After == "" {
			return err
		}
	}
}
