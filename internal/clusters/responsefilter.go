package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

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

// A responseFilter lets JSON pass resource by resource: of a list, of the events of a watch, or one alone. In the place
// of a resource beyond the bounds passes what is left of it, so that it is not missing, and nothing else fails with it.
type responseFilter struct {
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

// newResponseFilter returns the responseFilter for the answer to a call.
func newResponseFilter(c call, maxLevels int, maxSize int64) responseFilter {
	s := responseFilter{maxLevels: maxLevels, maxSize: maxSize, level: 1, held: true}
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
func (s *responseFilter) sift(p []byte) (after int, err error) {
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
func (s *responseFilter) next(p []byte, from, to int) int {
	s.values++
	if !s.within || s.depth != s.level {
		return from
	}
	s.take(p[from:to])
	s.member, s.skips = len(s.item), false
	return to
}

// ascend takes the end of an object or a list, and returns from where on nothing is taken yet.
func (s *responseFilter) ascend(p []byte, from, to int) (int, error) {
	s.depth = max(0, s.depth-1)
	if !s.within || s.depth >= s.level {
		return from, nil
	}
	s.take(p[from:to])
	return to, s.end()
}

// take takes a part of a resource, or of what is around.
func (s *responseFilter) take(p []byte) {
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
func (s *responseFilter) end() (err error) {
	if s.skips {
		s.item = append(s.item, '}')
	}
	content, why := s.item, ""
	switch {
	case s.deepest-s.level >= s.maxLevels:
		why = fmt.Sprintf("the resource nests deeper than %d levels, including its managed fields", s.maxLevels)
	case s.long:
		why = fmt.Sprintf("the resource is longer than %d MiB as JSON", s.maxSize>>20)
	case s.values > s.maxSize/bytesPerValue:
		why = fmt.Sprintf("the resource has more than %d values", s.maxSize/bytesPerValue)
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
	return left, errors.Wrap(err, "cannot encode the metadata of a resource that is too large")
}

const (
	// maxObject is how long a resource may be to be read, in bytes of JSON after decompression, and maxTenantObject how
	// long one may be that comes from the server of a tenant. An API server takes requests of 3 MiB, and etcd stores
	// 1.5 MiB unless told otherwise. As JSON that may be six times as long.
	maxObject       = 8 << 20
	maxTenantObject = 4 << 20
	// skipMost is how much longer an answer or an event may be than what passes of it: as six times 1.5 MiB may be. Of
	// what tenants' servers answer, all that is read passes: their number nobody limits.
	skipMost, skipTenant = 3, 1
	// maxList is how long a list may be, and maxTenantList how long one that comes from the server of a tenant, with
	// all of its pages. A page has tenantPage resources, and may be as long as one object.
	maxList       = 512 << 20
	maxTenantList = 32 << 20
	tenantPage    = 50
	// bytesPerValue is how long the values of an answer are at least, on average: each costs memory that its length
	// does not show. So 4 MiB have at most 400,000 values, and cost about 25 MB when they are decoded.
	bytesPerValue = 10
	// largeBody is from which length on a body counts as large, and largeBodies how many large ones are read at a time:
	// of one cluster, or of all clusters of tenants together, whose number nobody limits.
	largeBody   = 256 << 10
	largeBodies = 2
	// largeTime is how long a large body may be read, so that a server which stalls keeps no other from being read for
	// long.
	largeTime = 15 * time.Second
)

// A meter reads the body of a success, and lets pass what is within its bounds. It fails if a list is too large, or
// anything that is no resource.
type meter struct {
	io.ReadCloser
	responseFilter

	ctx     context.Context    //nolint:containedctx // The request's, which bounds the wait for a slot.
	large   chan struct{}      // bounds how many large bodies are read at a time; nil for no bound
	list    *informer.ListSize // of the list that it is a page or a stream of, nil for none
	maxList int64
	watch   bool
	json    bool
	max     int64 // how long may be what passes of the answer or the event
	skip    int64 // how many times as much may be read

	slot   *time.Timer // ends the read of a large body; nil if it has no slot
	err    error       // of the last read
	size   int64       // of what was read of the answer, or of the event under way
	length int64       // of what has passed of the answer
}

// Read reads from the body. Nothing is read after an error, which some decoders forget.
func (m *meter) Read(p []byte) (n int, err error) {
	if m.out.Len() == 0 && m.out.Cap() > largeBody {
		m.out = bytes.Buffer{}
	}
	for m.out.Len() == 0 && m.err == nil {
		n, m.err = m.ReadCloser.Read(p)
		if err := m.count(p[:n]); err != nil {
			m.err = err
			m.out.Reset()
		}
		if m.err != nil {
			m.leave()
		}
	}
	if m.out.Len() == 0 {
		return 0, m.err
	}
	return m.out.Read(p)
}

// count takes in what is read, and returns an error if that is too much.
func (m *meter) count(p []byte) error {
	was := m.out.Len()
	m.size += int64(len(p))
	if !m.json {
		m.out.Write(p)
	} else if after, err := m.sift(p); err != nil {
		return err
	} else if after >= 0 && m.watch {
		m.size = int64(after)
		m.leave()
	}
	let := m.out.Len() - was
	m.length += int64(let)
	switch {
	case m.list != nil && m.list.Add(let) > m.maxList:
		err := foreignError{message: fmt.Sprintf("the list of the server is larger than %d MiB: delete resources "+
			"that you do not need", m.maxList>>20)}
		m.list.Fail(err)
		return err
	case m.watch && !m.json:
		return nil // client-go bounds its frames.
	case m.size > m.skip*m.max, !m.watch && (m.length > m.max || m.passed > m.max/bytesPerValue):
		return foreignError{message: fmt.Sprintf("one response of the server has more than %d MiB, or %d values: look for "+
			"a very large resource",
			m.max>>20, m.max/bytesPerValue)}
	case m.size > largeBody:
		return m.enter()
	}
	return nil
}

// enter waits for a slot, as what is read has become large.
func (m *meter) enter() error {
	if m.slot != nil || m.large == nil {
		return nil
	}
	select {
	case m.large <- struct{}{}:
		m.slot = time.AfterFunc(largeTime, func() { _ = m.Close() }) // The read that waits fails.
		return nil
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	}
}

// leave gives the slot back, if there is one.
func (m *meter) leave() {
	if m.slot != nil {
		m.slot.Stop()
		m.slot = nil
		<-m.large
	}
}
