package objectsync

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// A recordSet is a set of Records that finds those of one object at the origin without a look at all others. The zero
// value is empty and cannot be added to.
type recordSet struct {
	by    map[recordOrigin][]Record // sorted, and few for each
	bytes int                       // how much the records take in a Secret
}

// A recordOrigin is what a Record is of, in no version.
type recordOrigin struct {
	side v1alpha1.Origin
	from Ref
}

func (r Record) origin() recordOrigin { return recordOrigin{r.Origin, r.From.Plain()} }

func newRecordSet(all ...Record) recordSet {
	s := recordSet{by: map[recordOrigin][]Record{}}
	for _, r := range all {
		s.add(r)
	}
	return s
}

func (s *recordSet) add(r Record) {
	list := s.by[r.origin()]
	at, has := slices.BinarySearchFunc(list, r, compareRecords)
	if has {
		return
	}
	s.by[r.origin()] = slices.Insert(list, at, r)
	s.bytes += bytesOf(r)
}

// removeFunc removes the records of one object at the origin for which is holds.
func (s *recordSet) removeFunc(o recordOrigin, is func(Record) bool) {
	rest := slices.DeleteFunc(s.by[o], func(r Record) bool {
		gone := is(r)
		if gone {
			s.bytes -= bytesOf(r)
		}
		return gone
	})
	if s.by[o] = rest; len(rest) == 0 {
		delete(s.by, o)
	}
}

func (s *recordSet) remove(r Record) {
	s.removeFunc(r.origin(), func(x Record) bool { return x == r })
}

func (s *recordSet) has(r Record) bool { return slices.Contains(s.by[r.origin()], r) }

// hasSame reports whether there is a record of the same copy.
func (s *recordSet) hasSame(r Record) bool { return slices.ContainsFunc(s.by[r.origin()], r.same) }

// of returns the records of one object at the origin. They are shared.
func (s *recordSet) of(o recordOrigin) []Record { return s.by[o] }

// all returns all records, sorted.
func (s *recordSet) all() []Record {
	var out []Record
	for _, list := range s.by {
		out = append(out, list...)
	}
	slices.SortFunc(out, compareRecords)
	return out
}

// size returns how many bytes the list of all records takes.
func (s *recordSet) size() int {
	if len(s.by) == 0 {
		return 0
	}
	return s.bytes + len("[]") - len(",")
}

func (s *recordSet) clone() recordSet {
	out := recordSet{by: make(map[recordOrigin][]Record, len(s.by)), bytes: s.bytes}
	for o, list := range s.by {
		out.by[o] = slices.Clone(list)
	}
	return out
}

func (s *recordSet) equal(t recordSet) bool { return maps.EqualFunc(s.by, t.by, slices.Equal) }

// bytesOf returns how much a record takes in a list, with a comma.
func bytesOf(r Record) int {
	b, err := json.Marshal(r)
	if err != nil {
		return 0 // A struct of texts can be encoded.
	}
	return len(b) + len(",")
}

// compareRecords orders records by what they are called first, so that a list is easy to read.
func compareRecords(a, b Record) int {
	return cmp.Or(
		strings.Compare(a.Identifier, b.Identifier), compareRefs(a.From, b.From), compareRefs(a.To, b.To),
		strings.Compare(string(a.Origin), string(b.Origin)),
	)
}

func compareRefs(a, b Ref) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Resource,
			b.Resource),
	)
}
