package judge

import "holdfast/tests/referee/history"

// Step is one request at the locks.
func (l *Locks) Step(state State, op *history.Operation, now int64) []State {
	s := state.(*lockState)
	if op.Outcome == history.Failed {
		return []State{s}
	}
	switch op.Kind {
	case history.Acquire:
		if op.Outcome == history.Refused {
			return l.refuse(s, op, now)
		}
		return l.acquire(s, op, now)
	case history.Renew:
		return l.renew(s, op, now)
	case history.Release:
		return l.release(s, op, now)
	case history.Force:
		return l.force(s, op, now)
	case history.Look:
		return l.look(s, op, now)
	case history.SetValue:
		return l.setValue(s, op, now)
	case history.Write:
		if op.Outcome == history.Refused {
			return l.refuse(s, op, now)
		}
		return l.write(s, op, now)
	case history.Read:
		for _, cell := range l.cells.cells(op.Scopes) {
			if s.contents[cell] != op.Content {
				return nil
			}
		}
		return []State{s}
	}
	return nil
}

func (l *Locks) acquire(s *lockState, op *history.Operation, now int64) []State {
	if op.Request != "" {
		for _, held := range s.leases {
			if held.request == op.Request && held.door == op.Door {
				return l.tellAgain(s, held, op)
			}
		}
	}
	if op.Reentrant {
		if held := find(s, op); held != nil {
			return []State{s.replacing(held, held.prolonged(promise(op, held.lasts)))}
		}
	}
	if op.Number > 0 && op.Number <= s.last {
		return nil
	}
	cells := l.cells.cells(op.Scopes)
	var states []State
	for _, free := range l.makeRoom(s, op, cells, now) {
		states = append(states, free.with(l.newLease(op, cells)))
	}
	return states
}

// tellAgain answers a request that had its effect before: with the same lease.
func (l *Locks) tellAgain(s *lockState, held *lease, op *history.Operation) []State {
	isToldAlready := held.token != "" && op.Number == held.number
	if op.Outcome == history.Unknown || isToldAlready {
		return []State{s}
	}
	if held.number != 0 && op.Number != held.number || op.Number <= held.least {
		return nil
	}
	told := held.prolonged(after(held.call, held.lasts))
	told.number, told.token = op.Number, op.Granted
	return []State{s.replacing(held, told)}
}

func (l *Locks) newLease(op *history.Operation, cells []int) *lease {
	made := &lease{id: l.idOf(op), door: op.Door, owner: op.Owner, token: op.Token, request: op.Request, cells: cells,
		shared: op.Shared, limit: op.Limit, call: op.Call, lasts: endless, number: op.Number, least: l.least[op.ID], value: op.Value}
	if op.Granted != "" {
		made.token = op.Granted
	}
	if ttl, ends := op.TTL(); ends {
		made.lasts = int64(ttl) + op.GraceMs*1e6
	}
	if op.Outcome == history.OK {
		made.until = promise(op, made.lasts)
	}
	if op.Value != "" {
		made.revision = 1
	}
	return made
}

// promise is the moment until which the answer to `op` says that the lease is there.
func promise(op *history.Operation, lasts int64) int64 {
	if op.Outcome != history.OK {
		return 0
	}
	if ttl, ends := op.TTL(); ends {
		lasts = int64(ttl) + op.GraceMs*1e6
	}
	return after(op.Call, lasts)
}

func after(moment, duration int64) int64 {
	if duration == endless {
		return endless
	}
	return moment + duration
}

func later(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

// makeRoom returns the states in which the leases in the way of `op` have ended: none if one of them cannot have.
func (l *Locks) makeRoom(s *lockState, op *history.Operation, cells []int, now int64) []*lockState {
	if op.Limit > 1 {
		return l.makePermit(s, op, cells, now)
	}
	for _, held := range s.leases {
		isOwn := isSame(held, op) && (op.Reentrant || op.Kind == history.Write)
		if isOwn || held.shared && op.Shared || !shareOne(held.cells, cells) {
			continue
		}
		if held.until > now {
			return nil
		}
		return l.makeRoom(s.without(held), op, cells, now)
	}
	return []*lockState{s}
}

// makePermit: which of the permits was given back may be open.
func (l *Locks) makePermit(s *lockState, op *history.Operation, cells []int, now int64) []*lockState {
	var holders []*lease
	for _, held := range s.leases {
		if shareOne(held.cells, cells) {
			holders = append(holders, held)
		}
	}
	if len(holders) < op.Limit {
		return []*lockState{s}
	}
	var states []*lockState
	for _, held := range holders {
		if held.until <= now {
			states = append(states, l.makePermit(s.without(held), op, cells, now)...)
		}
	}
	return states
}

func isSame(held *lease, op *history.Operation) bool {
	return op.Token != "" && held.token == op.Token && held.door == op.Door
}

// refuse: somebody is in the way, and the one that the answer names has a lease there, or waits. A write that needs its lease is
// also refused when that has ended.
func (l *Locks) refuse(s *lockState, op *history.Operation, now int64) []State {
	isNamed, isInTheWay := op.Holder == "" || op.Limit > 1, len(l.waiters[op.ID]) > 0
	for _, waiter := range l.waiters[op.ID] {
		isNamed = isNamed || op.Holder == waiter
	}
	if isNamed && isInTheWay {
		return []State{s}
	}
	if op.Kind == history.Write && op.Holds && op.Holder == "" {
		return l.isGone(s, op, now)
	}
	cells := l.cells.cells(op.Scopes)
	count := 0
	for _, held := range s.leases {
		if !shareOne(held.cells, cells) || isSame(held, op) && op.Reentrant {
			continue
		}
		count++
		isNamed = isNamed || op.Holder == held.owner
		isInTheWay = isInTheWay || op.Limit > 1 && count >= op.Limit || op.Limit <= 1 && !(held.shared && op.Shared)
	}
	if isNamed && isInTheWay {
		return []State{s}
	}
	return nil
}

func (l *Locks) renew(s *lockState, op *history.Operation, now int64) []State {
	if op.Outcome == history.Refused {
		return l.isGone(s, op, now)
	}
	held := find(s, op)
	if held == nil {
		return nil
	}
	return []State{s.replacing(held, held.prolonged(promise(op, held.lasts)))}
}

// isGone: the lease that the request is about has ended.
func (l *Locks) isGone(s *lockState, op *history.Operation, now int64) []State {
	held := find(s, op)
	if held == nil {
		return []State{s}
	}
	if held.until > now {
		return nil
	}
	return []State{s.without(held)}
}

func (l *Locks) release(s *lockState, op *history.Operation, now int64) []State {
	if op.Outcome == history.Refused {
		return l.isGone(s, op, now)
	}
	held := find(s, op)
	if held != nil {
		return []State{s.without(held)}
	}
	// Where a name is the proof, a release of what has ended is done while nobody holds the lock.
	if op.Outcome != history.OK || !op.Reentrant {
		return nil
	}
	return l.nobodyHolds(s, op, now)
}

// nobodyHolds ends the leases that may have ended; there is no such state if one of them cannot have.
func (l *Locks) nobodyHolds(s *lockState, op *history.Operation, now int64) []State {
	for _, held := range l.on(s, l.cells.cells(op.Scopes)) {
		if held.until > now {
			return nil
		}
		s = s.without(held)
	}
	return []State{s}
}

// on returns the leases on any of the cells.
func (l *Locks) on(s *lockState, cells []int) []*lease {
	var leases []*lease
	for _, held := range s.leases {
		if shareOne(held.cells, cells) {
			leases = append(leases, held)
		}
	}
	return leases
}

// force ends all leases of the cells; refused means that there were none.
func (l *Locks) force(s *lockState, op *history.Operation, now int64) []State {
	leases := l.on(s, l.cells.cells(op.Scopes))
	if op.Outcome == history.Unknown && len(leases) == 0 {
		return nil // then it may as well be done later
	}
	for _, held := range leases {
		if op.Outcome == history.Refused && held.until > now {
			return nil
		}
		s = s.without(held)
	}
	return []State{s}
}

func (l *Locks) look(s *lockState, op *history.Operation, now int64) []State {
	if op.Free {
		return l.nobodyHolds(s, op, now)
	}
	for _, waiter := range l.waiters[op.ID] {
		if op.Holder == waiter {
			return []State{s}
		}
	}
	leases := l.on(s, l.cells.cells(op.Scopes))
	var states []State
	for _, held := range leases {
		if seen := l.isSeen(s, held, op); seen != nil {
			states = append(states, seen)
		}
	}
	return states
}

// isSeen returns the state in which the lease is as the answer says, or nil.
func (l *Locks) isSeen(s *lockState, held *lease, op *history.Operation) *lockState {
	if op.Holder != "" && op.Holder != held.owner {
		return nil
	}
	if op.Revision == history.NoRevision && held.revision != 0 {
		return nil
	}
	if op.Revision > 0 && (op.Revision != held.revision || op.Content != held.value) {
		return nil
	}
	if op.Number == 0 || op.Number == held.number {
		return s
	}
	if held.number != 0 || op.Number <= held.least {
		return nil
	}
	known := *held
	known.number = op.Number
	return s.replacing(held, &known)
}

func (l *Locks) setValue(s *lockState, op *history.Operation, now int64) []State {
	if op.Outcome == history.Refused {
		return l.isGone(s, op, now)
	}
	held := find(s, op)
	if held == nil {
		return nil
	}
	changed := *held
	if held.value != op.Value || held.revision == 0 {
		changed.value, changed.revision = op.Value, held.revision+1
	}
	if op.Outcome == history.OK && op.Revision != changed.revision {
		return nil
	}
	return []State{s.replacing(held, &changed)}
}

// write: nobody else holds the lock at the moment of the write.
func (l *Locks) write(s *lockState, op *history.Operation, now int64) []State {
	cells := l.cells.cells(op.Scopes)
	held := find(s, op)
	if op.Holds && held == nil {
		return nil
	}
	var states []State
	for _, free := range l.makeRoom(s, op, cells, now) {
		contents := map[int]string{}
		for cell, content := range free.contents {
			contents[cell] = content
		}
		for _, cell := range cells {
			contents[cell] = op.Value
		}
		written := newLockState(free.leases, free.last, contents)
		switch {
		case op.Frees && held != nil && op.Kept:
			doubted := *held
			doubted.until, doubted.doubted = 0, true
			written = written.replacing(held, &doubted)
		case op.Frees && held != nil:
			written = written.without(held)
		}
		states = append(states, written)
	}
	return states
}
