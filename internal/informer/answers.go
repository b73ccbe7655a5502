package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A write is one or more writes of ours to a resource that are under way.
type write struct {
	count  int
	before string // the resource version when the first began
	heard  bool   // the stream has told of a change meanwhile
	undone bool   // the server has gone back in its history meanwhile
}

// An answer is what the store shows of a resource by the word of a write of ours, until the stream has come as far.
type answer struct {
	version string
	told    *unstructured.Unstructured // what the stream tells, nil for nothing
}

// begin records that a write of ours to a resource is under way: what the stream tells of it meanwhile may be the echo
// of that write, and is not passed on before end.
func (s *store) begin(n types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes[n] == nil {
		s.writes[n] = &write{before: s.heldVersion(n)}
	}
	s.writes[n].count++
}

// end records that a write of an owner is over, and what the server has answered, nil if nothing. A change is passed on
// to all but its author; to all if somebody else has changed the resource meanwhile.
func (s *store) end(n types.NamespacedName, by Owner, answer *unstructured.Unstructured) {
	changed, ours := s.finish(n, answer)
	switch {
	case changed && ours:
		s.changed(n, by)
	case changed:
		s.changed(n, Owner{})
	}
}

// finish ends a write and reports whether the resource has changed since the writes began, and whether the answer is
// its last state.
func (s *store) finish(n types.NamespacedName, answer *unstructured.Unstructured) (changed, ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.writes[n]
	if answer != nil && (w == nil || !w.undone) {
		s.put(n, answer)
	}
	if w == nil {
		return false, false
	}
	if w.count--; w.count > 0 {
		w.heard = true // The last of them tells everyone.
		return false, false
	}
	delete(s.writes, n)
	held := s.heldVersion(n)
	ours = answer != nil && held == answer.GetResourceVersion()
	return w.heard || held != w.before, ours
}

// put shows the answer to a write, unless the stream has come as far. What the stream has passed and does not hold is
// gone, has lost our label, or was never part of this history. The caller holds the lock.
func (s *store) put(n types.NamespacedName, u *unstructured.Unstructured) {
	held, ok := s.items[n]
	if s.stream.past(u.GetResourceVersion()) || ok && !newer(u.GetResourceVersion(), held.GetResourceVersion()) {
		return
	}
	told := held
	if a := s.answers[n]; a != nil {
		told = a.told
	}
	s.answers[n] = &answer{version: u.GetResourceVersion(), told: told}
	s.set(n, u)
}

// outlasts reports whether the answer to a write is newer than what the stream tells of the resource, nil if it is
// gone, as of a resource version. If so that is kept for later; if not the answer has served. The caller holds the
// lock.
func (s *store) outlasts(n types.NamespacedName, version string, told *unstructured.Unstructured) bool {
	a := s.answers[n]
	if a == nil {
		return false
	}
	if newer(a.version, version) {
		a.told = told
		return true
	}
	delete(s.answers, n)
	return false
}

// advance records how far the stream has come. Answers it has passed without telling of them are not part of the
// history it tells: the word of the stream counts. It returns the resources of which that has to be passed on now. The
// caller holds the lock.
func (s *store) advance(version string) []types.NamespacedName {
	s.stream.advance(version)
	var changed []types.NamespacedName
	for n, a := range s.answers {
		if !s.stream.past(a.version) {
			continue
		}
		delete(s.answers, n)
		s.set(n, a.told)
		if s.told(n) {
			changed = append(changed, n)
		}
	}
	return changed
}

// told records that the stream has told of a change, and reports whether to pass that on now. The caller holds the
// lock.
func (s *store) told(n types.NamespacedName) bool {
	w := s.writes[n]
	if w != nil {
		w.heard = true
	}
	return w == nil
}

// forgetAnswers drops all that is known by the answers to writes, those under way included: they speak of a history
// that the server has left. The caller holds the lock.
func (s *store) forgetAnswers() {
	clear(s.answers)
	for _, w := range s.writes {
		w.heard, w.undone = true, true
	}
}
