package fairqueue

import (
	"slices"

	"k8s.io/client-go/util/workqueue"
)

// A Lane is where items wait for each other.
type Lane struct {
	// Tenant has the lane. What its lanes hold together counts for each of them.
	Tenant string
	// Name is unique in the tenant.
	Name string
}

// lanes hold the items that wait, and count those under way. The lock of the Queue guards them.
type lanes[T comparable] struct {
	workers int
	laneOf  func(T) Lane

	all     map[Lane]*lane[T] // those with an item that waits or is under way
	turns   []*lane[T]        // those with an item that waits, the next first
	held    map[string]int    // items under way, by tenant, none of them zero
	busy    map[T]*lane[T]    // items under way
	waiting int
}

var _ workqueue.Queue[string] = &lanes[string]{}

type lane[T comparable] struct {
	Lane

	items []T
	held  int
}

func newLanes[T comparable](workers int, laneOf func(T) Lane) *lanes[T] {
	return &lanes[T]{
		workers: workers, laneOf: laneOf, all: map[Lane]*lane[T]{}, held: map[string]int{}, busy: map[T]*lane[T]{},
	}
}

// Touch is called for an item that waits and is added again. It keeps its place.
func (s *lanes[T]) Touch(T) {}

// Push adds an item to its lane.
func (s *lanes[T]) Push(item T) {
	id := s.laneOf(item)
	l := s.all[id]
	if l == nil {
		l = &lane[T]{Lane: id}
		s.all[id] = l
	}
	if len(l.items) == 0 {
		s.turns = append(s.turns, l)
	}
	l.items = append(l.items, item)
	s.waiting++
}

// Len returns 0 if Pop has nothing to return now.
func (s *lanes[T]) Len() int {
	if !slices.ContainsFunc(s.turns, s.admits) {
		return 0
	}
	return s.waiting
}

// admits reports whether a lane may have another worker.
func (s *lanes[T]) admits(l *lane[T]) bool {
	return l.held+s.held[l.Tenant] < s.workers-len(s.busy)
}

// Pop takes the first item of the lane whose turn it is, which gets the last turn.
func (s *lanes[T]) Pop() T {
	i := slices.IndexFunc(s.turns, s.admits)
	l := s.turns[i]
	s.turns = slices.Delete(s.turns, i, i+1)
	item := l.items[0]
	if l.items = l.items[1:]; len(l.items) > 0 {
		s.turns = append(s.turns, l)
	}
	s.waiting--
	s.busy[item] = l
	l.held++
	s.held[l.Tenant]++
	return item
}

// done gives the worker of an item back to all.
func (s *lanes[T]) done(item T) {
	l := s.busy[item]
	if l == nil {
		return
	}
	delete(s.busy, item)
	if s.held[l.Tenant]--; s.held[l.Tenant] == 0 {
		delete(s.held, l.Tenant)
	}
	if l.held--; l.held+len(l.items) == 0 {
		delete(s.all, l.Lane)
	}
}
