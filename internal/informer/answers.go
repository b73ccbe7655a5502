package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// begin records that a write of ours to a resource is under way: what the stream tells of it meanwhile may be the echo
// of that write, and is not passed on before end.
func (s *store) begin(n types.NamespacedName) *write {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes[n] == nil {
		s.writes[n] = &write{}
	}
	s.writes[n].count++
	return s.writes[n]
}

// end records that a write of an owner is over, and what the server has answered, nil if nothing. A change is passed on
// to all but its author; to all if somebody else has changed the resource, too.
func (s *store) end(n types.NamespacedName, w *write, by Owner, answer *unstructured.Unstructured) {
	s.mu.Lock()
	if s.writes[n] != w {
		s.mu.Unlock()
		return // The server has gone back in its history, and everybody was told.
	}
	w.heard = s.put(n, answer) || w.heard
	if w.count--; w.count > 0 {
		w.heard = true // The last of them tells everyone.
		s.mu.Unlock()
		return
	}
	delete(s.writes, n)
	if differ(answer, s.get(n)) {
		by = Owner{}
	}
	s.mu.Unlock()
	if w.heard {
		s.changed(n, by)
	}
}

// put shows the answer to a write, nil for none, and reports whether it does. If the stream has come as far it does
// not: what the stream has passed and does not hold is gone, has lost our label, or was never part of this history. The
// caller holds the lock.
func (s *store) put(n types.NamespacedName, u *unstructured.Unstructured) bool {
	held := s.get(n)
	if u == nil || s.version != "" && !newer(u.GetResourceVersion(), s.version) ||
		held != nil && !newer(u.GetResourceVersion(), held.GetResourceVersion()) {
		return false
	}
	told := held
	if a := s.answers[n]; a != nil {
		told = a.told
	}
	s.answers[n] = &answer{version: u.GetResourceVersion(), told: told}
	return s.set(n, u)
}

// remove forgets a resource that is known to be gone if what is held of it satisfies a condition, and tells of that.
func (s *store) remove(n types.NamespacedName, is func(*unstructured.Unstructured) bool) {
	s.mu.Lock()
	held := s.get(n)
	news := held != nil && is(held)
	if news {
		s.set(n, nil) // There is room for nothing.
		delete(s.answers, n)
		news = s.heard(n)
	}
	s.mu.Unlock()
	if news {
		s.changed(n, Owner{})
	}
}
