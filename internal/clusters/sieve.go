package clusters

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pkg/errors"
	"github.com/tidwall/gjson"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// maxLevels is how many levels of JSON a resource may have. API servers store 10,000, of which decoders of Go take no
	// more in a whole list or event. One of the control plane may have twice as many: our own hold others.
	maxLevels = 1000
	// maxMember is how long one member of the metadata of a resource may be that cannot be read otherwise: labels and
	// annotations of what an API server stores are shorter.
	maxMember = 2 << 20
)

// A sieve lets JSON pass resource by resource: of a list, of the events of a watch, or one alone. In the place of a
// resource beyond the bounds passes what is left of it, so that it is not missing, and nothing else fails with it.
type sieve struct {
	level     int    // of the brackets of a resource: 1, 2 in events, 3 in lists; 0 if there is none
	holder    string // the member of an event or a list with resources
	maxLevels int
	maxSize   int64 // of a resource

	depth           int
	quoted, escaped bool
	word            []byte // the beginning of the last text
	held, within    bool   // The holder is under way, and a resource of it.
	deepest         int
	item            []byte // the resource under way, without what it has in members that make it too long
	member          int    // where the member of the item begins that is under way
	long, skips     bool   // The item is too long, and the member under way is left out.
	values, passed  int64  // how many values it has, and how many all that has passed
	out             bytes.Buffer
}

// newSieve returns the sieve for the answer to a call.
func newSieve(c call, maxLevels int, maxSize int64) sieve {
	s := sieve{maxLevels: maxLevels, maxSize: maxSize, level: 1, held: true}
	switch {
	case !c.resource:
		s.level = 0
	case c.watch:
		s.level, s.holder = 2, "object"
	case c.list:
		s.level, s.holder = 3, "items"
	}
	return s
}

// sift takes what is read. It returns how much of that comes after the last event, negative if none ends.
func (s *sieve) sift(p []byte) (after int, err error) {
	from, after := 0, -1
	for i, c := range p {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
			if s.quoted && len(s.word) <= len(s.holder) {
				s.word = append(s.word, c)
			}
		case c == '"':
			s.quoted, s.word = true, s.word[:0]
		case c == ':' && s.depth == 1 && s.holder != "":
			s.held = string(s.word) == s.holder
		case c == ',':
			from = s.next(p, from, i+1)
		case c == '{', c == '[':
			s.values++
			s.depth++
			s.deepest = max(s.deepest, s.depth)
			if c == '{' && s.depth == s.level && s.held && !s.within {
				s.take(p[from:i])
				from, s.within, s.deepest, s.values, s.passed = i, true, s.depth, 0, s.passed+s.values
				s.member, s.skips, s.long = len("{"), false, false
			}
		case c == '}', c == ']':
			if from, err = s.ascend(p, from, i+1); err != nil {
				return after, err
			}
			if s.depth == 0 {
				after = len(p) - i - 1
			}
		}
	}
	s.take(p[from:])
	return after, nil
}

// next takes the end of a value that another follows, and returns from where on nothing is taken yet.
func (s *sieve) next(p []byte, from, to int) int {
	s.values++
	if !s.within || s.depth != s.level {
		return from
	}
	s.take(p[from:to])
	s.member, s.skips = len(s.item), false
	return to
}

// ascend takes the end of an object or a list, and returns from where on nothing is taken yet.
func (s *sieve) ascend(p []byte, from, to int) (int, error) {
	s.depth = max(0, s.depth-1)
	if !s.within || s.depth >= s.level {
		return from, nil
	}
	s.take(p[from:to])
	return to, s.end()
}

// take takes a part of a resource, or of what is around.
func (s *sieve) take(p []byte) {
	switch {
	case !s.within:
		s.out.Write(p)
		return
	case s.skips:
		return
	}
	s.item = append(s.item, p...)
	if int64(len(s.item)) > s.maxSize {
		s.long = true
		if s.skips = !bytes.HasPrefix(bytes.TrimSpace(s.item[s.member:]), []byte(`"metadata"`)); s.skips {
			s.item = s.item[:s.member]
		}
	}
}

// end lets the resource under way pass, or what is left of it.
func (s *sieve) end() (err error) {
	if s.skips {
		s.item = append(s.item, '}')
	}
	content, why := s.item, ""
	switch {
	case s.deepest-s.level >= s.maxLevels:
		why = fmt.Sprintf("it nests deeper than %d levels, its managed fields included", s.maxLevels)
	case s.long:
		why = fmt.Sprintf("it is longer than %d MiB as JSON", s.maxSize>>20)
	case s.values > s.maxSize/bytesPerValue:
		why = fmt.Sprintf("it has more than %d values", s.maxSize/bytesPerValue)
	}
	if why != "" {
		unreadable.Inc()
		s.values = 0
		if content, err = remains(s.item, why); err != nil {
			return err
		}
	}
	if s.out.Len() == 0 && cap(s.item) > largeBody {
		s.out = *bytes.NewBuffer(content) // It is not held twice.
	} else {
		s.out.Write(content)
	}
	if s.item = s.item[:0]; cap(s.item) > largeBody {
		s.item = nil
	}
	s.within, s.values, s.passed = false, 0, s.passed+s.values
	return nil
}

// remains returns what is left of a resource that is beyond the bounds: its kind and its metadata, without managed
// fields, and why.
func remains(resource []byte, why string) ([]byte, error) {
	whole, metadata, annotations := gjson.ParseBytes(resource), map[string]any{}, map[string]string{}
	whole.Get("metadata").ForEach(func(name, value gjson.Result) bool {
		if name.String() != "managedFields" && len(value.Raw) <= maxMember {
			metadata[name.String()] = json.RawMessage(value.Raw)
		}
		return true
	})
	whole.Get("metadata.annotations").ForEach(func(name, value gjson.Result) bool {
		annotations[name.String()] = value.String()
		return true
	})
	annotations[informer.AnnotationUnreadable] = why
	metadata["annotations"] = annotations
	left, err := json.Marshal(map[string]any{
		"apiVersion": whole.Get("apiVersion").String(), "kind": whole.Get("kind").String(), "metadata": metadata,
	})
	return left, errors.Wrap(err, "cannot tell which resource cannot be read")
}
