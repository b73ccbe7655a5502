package objectsync

import "slices"

// empty is the value of a reserved slot: nothing has been copied yet.
const empty = "null"

// slotKeyOfCopy returns the key of the slot that one copy of an object has if the object has several copies.
func (o subject) slotKeyOfCopy() string {
	return hashJSON(struct {
		ClusterName, Group, Kind, Namespace, Name string
		To                                        Ref
	}{o.cluster, o.kind.Group, o.kind.Kind, o.Namespace, o.Name, o.record.To})
}

// to returns the subject for another copy of the same object.
func (o subject) to(r Record) subject {
	o.record = r.plain()
	return o
}

// hasSlotOfCopy reports whether a copy has a slot of its own.
func (s *state) hasSlotOfCopy(o subject) bool {
	_, ok := s.slots[o.slotKeyOfCopy()]
	return ok
}

// isSecond reports whether a copy is not recorded, and another copy of the same object has the slot of the object.
func (s *state) isSecond(o subject) bool {
	all := s.copiesOf(o.record.origin())
	return !slices.ContainsFunc(all, o.record.same) &&
		slices.ContainsFunc(all, func(r Record) bool { return !s.hasSlotOfCopy(o.to(r)) })
}

// copiesOf returns the records of one object at the origin, and those of copies that are about to be made.
func (s *state) copiesOf(o recordOrigin) []Record {
	return slices.Concat(s.records.of(o), s.pending.of(o))
}

// reserveSlot gives a copy its own slot before the copy is recorded, if it needs one.
func (s *state) reserveSlot(o subject) {
	if !s.hasSlotOfCopy(o) && s.isSecond(o) {
		s.fill(slot{o.slotKeyOfCopy(), []byte(empty)})
	}
}

// splitSlots gives each copy of an object its own slot. Former versions had one slot for all copies of an object, with
// what the last copy was made of.
func (s *state) splitSlots(cluster string) {
	for o := range s.records.by {
		s.splitSlotsOf(o, cluster)
	}
	for o := range s.pending.by {
		s.splitSlotsOf(o, cluster) // It does nothing the second time.
	}
}

// splitSlotsOf gives the copies of one object their own slots. The first copy without one keeps the object's slot.
func (s *state) splitSlotsOf(origin recordOrigin, cluster string) {
	if len(s.records.of(origin))+len(s.pending.of(origin)) == 1 {
		return
	}
	all := s.copiesOf(origin)
	if !slices.ContainsFunc(all, func(r Record) bool { return !r.same(all[0]) }) {
		return
	}
	var first Record
	for _, r := range all {
		o := subjectIn(r, cluster)
		switch value, ok := s.slots[s.key(o)]; {
		case s.hasSlotOfCopy(o):
		case first == (Record{}):
			first = r
		case ok && !r.same(first):
			s.fill(slot{o.slotKeyOfCopy(), value})
		}
	}
}
