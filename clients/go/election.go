package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Candidacy is what a candidate says of itself. An election is a lock, and the leader is its holder.
type Candidacy struct {
	Election   string        // the name of the lock
	Candidate  string        // the owner of the lease. Default: the owner of the client
	Value      string        // what others are told of the leader, such as its address; at most 4096 bytes
	TTL        time.Duration // how long nobody leads when the leader fails. Default: 30 s
	OnDeadlock OnDeadlock    // as in [LockOptions], like the next
	Waiter     string
}

// Leader is the leader of an election, as others see it.
type Leader struct {
	Candidate    string
	Value        string
	FencingToken uint64 // larger than that of every earlier leader
	Revision     uint64 // grows with every change of the value while this candidate leads; 0: there was none
}

// Leadership is the lead in an election. It ends with its lease.
type Leadership struct {
	*Lease
	setting chan struct{} // has an element while the value is being changed
}

// Campaign waits until the candidate leads, or ctx ends. The candidate leads while [Lease.Err] is nil,
// and resigns by [Lease.Release].
func (c *Client) Campaign(ctx context.Context, candidacy Candidacy) (*Leadership, error) {
	if candidacy.Election == "" {
		return nil, invalid("the election needs a name")
	}
	lease, err := c.acquireAs(ctx, Set("named:"+candidacy.Election), LockOptions{
		Owner: candidacy.Candidate, TTL: candidacy.TTL, OnDeadlock: candidacy.OnDeadlock,
		Waiter: candidacy.Waiter,
	}, endlessWait, candidacy.Value)
	if err != nil {
		return nil, err
	}
	return &Leadership{Lease: lease, setting: make(chan struct{}, 1)}, nil
}

// SetValue changes what others see; they see it when SetValue returns. Changes are made one after the
// other. The error is an [ErrLockLost] if the candidate does not lead any more. [Lease.Info] has the
// value and its revision.
func (l *Leadership) SetValue(ctx context.Context, value string) error {
	if err := requireUTF8(value); err != nil {
		return err
	}
	select {
	case l.setting <- struct{}{}:
		defer func() { <-l.setting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := l.Err(); err != nil {
		return err
	}
	answer, err := l.client.exchange.ask(ctx, ask{
		method:  http.MethodPut,
		target:  leasePath(l.token) + "/value",
		body:    map[string]string{"value": value},
		timeout: l.client.options.Timeout,
	}, l.client.patience())
	if err != nil {
		return err
	}
	if answer.status != http.StatusOK {
		err := answer.failure()
		var lost *LockLostError
		if errors.As(err, &lost) {
			lost.Scope = l.Info().Scope
		}
		return err
	}
	shown, err := answer.lease()
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.info.Value, l.info.Revision = shown.Value, shown.Revision
	return nil
}

// Observe calls onChange with the leader now and after every change of the leader or its value, and with
// nil if nobody leads. It returns as [Client.Watch] does. Each stream of the server begins with the leader
// of that moment, so nothing is missed when a stream breaks, or the server is restarted.
func (c *Client) Observe(ctx context.Context, election string, onChange func(*Leader) error) error {
	if election == "" {
		return invalid("the election needs a name")
	}
	view := leaderView{onChange: onChange}
	f := follower{
		client:     c,
		target:     "/v1/elections/" + url.PathEscape(election) + "?watch=true",
		beginsAnew: true,
		onOpen:     func() error { return nil },
		onEvent:    view.apply,
	}
	return f.follow(ctx)
}

// leaderView knows the leader that the program was told of.
type leaderView struct {
	onChange func(*Leader) error
	isKnown  bool
	leader   *Leader
}

func (v *leaderView) apply(event Event) error {
	if event.Kind != "leader" {
		return nil
	}
	var state struct {
		Leader       *string `json:"leader"`
		Value        string  `json:"value"`
		FencingToken *uint64 `json:"fencing_token"`
		Revision     uint64  `json:"revision"`
	}
	err := json.Unmarshal(event.Data, &state)
	if err != nil || (state.Leader != nil && state.FencingToken == nil) {
		return notHoldfast("", 0, "the leader of the election is not told as Holdfast does it")
	}
	if state.Leader == nil {
		return v.set(nil)
	}
	return v.set(&Leader{
		Candidate: *state.Leader, Value: state.Value, FencingToken: *state.FencingToken, Revision: state.Revision,
	})
}

func (v *leaderView) set(leader *Leader) error {
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
