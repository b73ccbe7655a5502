package clusters

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

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
	// maxTenantCache is about how many bytes of the resources of a tenant's server are held.
	maxTenantCache = 64 << 20
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
	sieve

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
		err := foreignError{message: fmt.Sprintf("server lists more than %d MiB", m.maxList>>20)}
		m.list.Fail(err)
		return err
	case m.watch && !m.json:
		return nil // client-go bounds its frames.
	case m.size > m.skip*m.max, !m.watch && (m.length > m.max || m.passed > m.max/bytesPerValue):
		return foreignError{message: fmt.Sprintf("server answers with more than %d MiB, or %d values, at once",
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
