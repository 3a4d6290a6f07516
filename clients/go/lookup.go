package holdfast

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// LeaseFilter says which leases are wanted. The zero value means all.
type LeaseFilter struct {
	Kind  string // "named", "semaphore", "path", "inode" or "range"
	Owner string
	Path  string
	Inode uint64
	Limit int    // how many leases a request asks for
	After string // where to go on, as the server called it
}

func (f LeaseFilter) query() string {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" && value != "0" {
			values.Set(name, value)
		}
	}
	set("kind", f.Kind)
	set("holder", f.Owner)
	set("path", f.Path)
	set("inode", strconv.FormatUint(f.Inode, 10))
	set("limit", strconv.Itoa(f.Limit))
	set("after", f.After)
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// Leases calls each with every lease that is live, the oldest first, until each returns an error. That
// error is returned.
func (c *Client) Leases(ctx context.Context, filter LeaseFilter, each func(LeaseInfo) error) error {
	for {
		answer, err := c.get(ctx, "/v1/leases"+filter.query())
		if err != nil {
			return err
		}
		for i := range answer.Leases {
			answer.Leases[i].server, answer.Leases[i].status = answer.server, answer.status
			info, err := answer.Leases[i].lease()
			if err != nil {
				return err
			}
			if err := each(info); err != nil {
				return err
			}
		}
		if filter.After, err = answer.nextPage(filter.After); err != nil || filter.After == "" {
			return err
		}
	}
}

// Lookup shows the lease of a token. The error is an [ErrLockLost] if it has ended.
func (c *Client) Lookup(ctx context.Context, token string) (LeaseInfo, error) {
	if token == "" {
		return LeaseInfo{}, invalid("the token is empty")
	}
	answer, err := c.get(ctx, leasePath(newSecret(token)))
	if err != nil {
		return LeaseInfo{}, err
	}
	return answer.lease()
}

// ForceRelease ends all leases on a lock, whoever holds them, and returns how many there were. If the
// server has secrets, this needs the one of the admin. The request is sent once.
func (c *Client) ForceRelease(ctx context.Context, scope string) (holders int, err error) {
	kind, name := splitScope(scope)
	if name == "" {
		return 0, invalid("'" + scope + "' is no scope")
	}
	target := "/v1/locks/" + url.PathEscape(name)
	if hasKind(scope) {
		target += "?kind=" + kind
	}
	answer, err := c.exchange.ask(ctx, ask{
		method:  http.MethodDelete,
		target:  target,
		timeout: c.options.Timeout,
		isOnce:  true,
	}, c.patience())
	if err != nil {
		return 0, err
	}
	if answer.status != http.StatusOK {
		return 0, answer.failure()
	}
	if json.Unmarshal(answer.Holders, &holders) != nil {
		return 0, notHoldfast(answer.server, answer.status, "the answer names no number of holders")
	}
	return holders, nil
}

// get asks for something to look at.
func (c *Client) get(ctx context.Context, target string) (*answer, error) {
	answer, err := c.exchange.ask(ctx,
		ask{method: http.MethodGet, target: target, timeout: c.options.Timeout}, c.patience())
	if err != nil {
		return nil, err
	}
	if answer.status != http.StatusOK {
		return nil, answer.failure()
	}
	return answer, nil
}
