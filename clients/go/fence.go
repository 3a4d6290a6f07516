package holdfast

import (
	"context"
	"net/http"
	"net/url"
)

// PassFence shows a fencing token for a resource that cannot compare fencing tokens itself. Call it
// before every use of the resource. The error is an [ErrStaleFence] if a larger fencing token was
// shown before: somebody else has had the lock since then.
func (c *Client) PassFence(ctx context.Context, resource string, fencingToken uint64) error {
	body := map[string]uint64{"fencing_token": fencingToken}
	answer, err := c.askFence(ctx, resource, ask{method: http.MethodPost, body: body})
	if err != nil {
		return err
	}
	if answer.status != http.StatusOK {
		return answer.failure()
	}
	if answer.Highest == nil {
		return notHoldfast(answer.server, answer.status, "the answer is no fence")
	}
	return nil
}

// GetFence is the largest fencing token that was shown for the resource. isKnown is false if there
// was none.
func (c *Client) GetFence(ctx context.Context, resource string) (highest uint64, isKnown bool, err error) {
	answer, err := c.askFence(ctx, resource, ask{method: http.MethodGet})
	switch {
	case err != nil:
		return 0, false, err
	case answer.Code == "FenceNotFound":
		return 0, false, nil
	case answer.status != http.StatusOK:
		return 0, false, answer.failure()
	case answer.Highest == nil:
		return 0, false, notHoldfast(answer.server, answer.status, "the answer is no fence")
	}
	return *answer.Highest, true, nil
}

// DropFence makes the server forget the fencing tokens of the resource: the next one is accepted,
// whatever it is. If the server has secrets, this needs the one of the admin. The request is sent once.
func (c *Client) DropFence(ctx context.Context, resource string) error {
	answer, err := c.askFence(ctx, resource, ask{method: http.MethodDelete, isOnce: true})
	if err != nil {
		return err
	}
	if answer.status != http.StatusOK && answer.Code != "FenceNotFound" {
		return answer.failure()
	}
	return nil
}

func (c *Client) askFence(ctx context.Context, resource string, ask ask) (*answer, error) {
	if resource == "" {
		return nil, invalid("the resource of a fence needs a name")
	}
	ask.target = "/v1/fence/" + url.PathEscape(resource)
	ask.timeout = c.options.Timeout
	return c.exchange.ask(ctx, ask, c.patience())
}

// Check is for a program that does work for others, who show it the token of their lease: may they now
// do work that needs a lock on the scope? The error is an [ErrLockLost] if the lease has ended, and an
// [ErrScopeMismatch] if it does not cover the scope, or is shared.
func (c *Client) Check(ctx context.Context, token, scope string) (LeaseInfo, error) {
	info, err := c.CheckShared(ctx, token, scope)
	if err == nil && info.Shared {
		err = &ScopeMismatchError{Held: info.Scope, Wanted: scope, HeldShared: true}
	}
	return info, err
}

// CheckShared is Check for work that only reads: a shared lease is enough.
func (c *Client) CheckShared(ctx context.Context, token, scope string) (LeaseInfo, error) {
	if err := requireUTF8(token, scope); err != nil {
		return LeaseInfo{}, err
	}
	answer, err := c.exchange.ask(ctx, ask{
		method:  http.MethodPost,
		target:  "/v1/fence/check",
		body:    map[string]string{"token": token, "scope": scope},
		timeout: c.options.Timeout,
	}, c.patience())
	if err != nil {
		return LeaseInfo{}, err
	}
	if answer.Code == "LockScopeMismatch" {
		return LeaseInfo{}, &ScopeMismatchError{Held: answer.Scope.String(), Wanted: scope}
	}
	if answer.status != http.StatusOK {
		return LeaseInfo{}, answer.failure()
	}
	return answer.lease()
}
