package holdfast

import (
	"context"
	"errors"
	"net/url"
	"time"
)

// Candidacy is what a candidate says of itself. An election is a lock, and the leader is its holder.
type Candidacy struct {
	Election  string        // the name of the lock
	Candidate string        // the owner of the lease. Default: the owner of the client
	Value     string        // what others are told of the leader, such as its address
	TTL       time.Duration // how long nobody leads when the leader fails. Default: 30 s
}

// Leader is the leader of an election, as others see it.
type Leader struct {
	Candidate    string
	Value        string
	FencingToken uint64 // larger than that of every earlier leader
}

// Campaign waits until the candidate leads, or ctx ends. The candidate leads while [Lease.Err] is nil,
// and resigns by [Lease.Release].
func (c *Client) Campaign(ctx context.Context, candidacy Candidacy) (*Lease, error) {
	return c.Acquire(ctx, "named:"+candidacy.Election, LockOptions{
		Owner: candidacy.Candidate, Metadata: candidacy.Value, TTL: candidacy.TTL,
	})
}

// Observe calls onChange with the leader now and after every change, and with nil if nobody leads. It
// returns as [Client.Watch] does.
func (c *Client) Observe(ctx context.Context, election string, onChange func(*Leader) error) error {
	if election == "" {
		return invalid("the election needs a name")
	}
	view := leaderView{onChange: onChange}
	look := func() error { return c.lookAtLeader(ctx, election, &view) }
	f := follower{client: c, prefix: election, onOpen: look}
	f.onEvent = func(event Event) error {
		switch {
		case event.Kind == "gap":
			return look()
		case event.Name == election && event.LockKind == "named":
			return view.apply(event)
		}
		return nil
	}
	return f.follow(ctx)
}

// lookAtLeader sets the leader to the one that the server shows.
func (c *Client) lookAtLeader(ctx context.Context, election string, view *leaderView) error {
	answer, err := c.get(ctx, "/v1/locks/"+url.PathEscape(election)+"?kind=named")
	if errors.Is(err, ErrServerUnavailable) {
		return &brokenStream{err: err}
	}
	if err != nil {
		return err
	}
	if answer.Held == nil {
		return notHoldfast(answer.server, answer.status, "the answer is no lock")
	}
	if !*answer.Held {
		return view.set(nil)
	}
	leader := &Leader{Candidate: answer.OwnerID, Value: answer.Metadata}
	if answer.FencingToken != nil {
		leader.FencingToken = *answer.FencingToken
	}
	return view.set(leader)
}

// leaderView knows the leader, from the server's view of the lock and from its events. An event may be
// older than the view; fencing tokens show which is newer.
type leaderView struct {
	onChange func(*Leader) error
	isKnown  bool
	leader   *Leader
	highest  uint64
}

func (v *leaderView) set(leader *Leader) error {
	if leader != nil && leader.FencingToken > v.highest {
		v.highest = leader.FencingToken
	}
	isSame := (leader == nil) == (v.leader == nil) && (leader == nil || *leader == *v.leader)
	if v.isKnown && isSame {
		return nil
	}
	v.isKnown, v.leader = true, leader
	if leader != nil {
		copied := *leader
		leader = &copied
	}
	return ownError(v.onChange(leader))
}

func (v *leaderView) apply(event Event) error {
	switch event.Kind {
	case "granted":
		if event.FencingToken > v.highest {
			return v.set(&Leader{
				Candidate: event.Owner, Value: event.Metadata, FencingToken: event.FencingToken,
			})
		}
	case "released", "expired":
		if v.leader != nil && v.leader.FencingToken == event.FencingToken {
			return v.set(nil)
		}
	}
	return nil
}
