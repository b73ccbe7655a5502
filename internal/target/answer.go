package target

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// maxObject is how long an answer with one object may be, or an event of a watch, in bytes after decompression, and
	// maxTenantObject how long one that comes from the server of a tenant. An API server takes requests of 3 MiB, and
	// etcd stores 1.5 MiB unless told otherwise.
	maxObject       = 8 << 20
	maxTenantObject = 4 << 20
	// maxList is how long a list may be, and maxTenantList how long one that comes from the server of a tenant, with
	// all of its pages. A page has tenantPage resources, and may be as long as one object.
	maxList       = 512 << 20
	maxTenantList = 32 << 20
	tenantPage    = 50
	// bytesPerValue is how long the values of an answer are at least, on average: each costs memory that its length
	// does not show.
	bytesPerValue = 8
	// maxTenantCache is about how many bytes of the resources of a tenant's server are held.
	maxTenantCache = 64 << 20
	// largeBody is from which length on a body counts as large, and largeBodies how many large ones are read at a time:
	// of one cluster, or of all clusters of tenants together, whose number nobody limits.
	largeBody   = 512 << 10
	largeBodies = 2
	// largeTime is how long a large body may be read, so that a server which stalls keeps no other from being read for
	// long.
	largeTime = 15 * time.Second

	protobufPrefix = "k8s\x00"
)

// A form is what an answer must look like.
type form int

const (
	formNone      form = iota // that of no API server
	formAny                   // a document, which its reader decodes
	formObject                // JSON with kind and apiVersion
	formDiscovery             // JSON with a kind
	formProtobuf
)

// An answer is the body of a success.
type answer struct {
	io.ReadCloser

	ctx   context.Context //nolint:containedctx // The request's, which bounds the wait for a slot.
	large chan struct{}
	code  int
	watch bool
	form  form
	max   int64
	rest  *largeRest

	list    *informer.ListSize // of the list that it is a page of, nil for none
	maxList int64              // how long that may be

	read   int64
	scan   jsonScan
	slot   atomic.Pointer[time.Timer] // ends the read of a body that holds a slot of large; nil if it holds none
	closed atomic.Bool
	err    error
}

// Read reads from the body. It ends with an error instead of io.EOF if the whole is not what it must be.
func (a *answer) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.ReadCloser.Read(p)
	if verr := a.look(p[:n]); verr != nil {
		return 0, a.fail(verr)
	}
	if err == io.EOF && !a.complete() {
		return 0, a.fail(foreignError{code: a.code})
	}
	switch {
	case err == io.EOF:
		a.leave()
	case err != nil:
		return n, a.fail(err)
	}
	return n, err
}

// look takes in what is read.
func (a *answer) look(p []byte) error {
	prefix := a.read == 0 && len(p) > 0
	a.read += int64(len(p))
	size := a.read
	switch a.form {
	case formProtobuf:
		if prefix && !a.watch && !bytes.HasPrefix([]byte(protobufPrefix), p[:min(len(p), len(protobufPrefix))]) {
			return foreignError{code: a.code}
		}
		if a.watch {
			return nil // client-go bounds its frames.
		}
	case formObject, formDiscovery:
		a.scan.scan(p)
		if a.scan.foreign {
			return foreignError{code: a.code}
		}
		if a.watch {
			size = a.scan.size
		}
	case formAny, formNone:
	}
	if size > a.max || a.scan.values > a.max/bytesPerValue {
		return errors.Errorf("server answers with more than %d MiB, or %d values, at once", a.max>>20,
			a.max/bytesPerValue)
	}
	if a.list != nil && a.list.Add(len(p)) > a.maxList {
		err := errors.Errorf("server lists more than %d MiB", a.maxList>>20)
		a.list.Fail(err)
		return err
	}
	if size <= largeBody {
		a.leave() // A large event of a watch is over.
		return nil
	}
	return a.enter()
}

// enter waits for a slot, as the body, or the event of a watch, has become large.
func (a *answer) enter() error {
	if a.slot.Load() != nil {
		return nil
	}
	if err := a.rest.refuse(time.Now()); err != nil {
		return err
	}
	select {
	case a.large <- struct{}{}:
		a.slot.Store(time.AfterFunc(largeTime, func() { _ = a.ReadCloser.Close() })) // The read that waits fails.
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	}
	if a.closed.Load() {
		a.giveBack() // Close may have come before the slot.
		return http.ErrBodyReadAfterClose
	}
	return nil
}

// leave gives the slot back, if there is one: what was large has been read.
func (a *answer) leave() {
	if a.giveBack() {
		a.rest.end()
	}
}

// giveBack gives the slot back, and reports whether there was one. Watches are closed while they are read.
func (a *answer) giveBack() bool {
	slot := a.slot.Swap(nil)
	if slot == nil {
		return false
	}
	slot.Stop()
	<-a.large
	return true
}

// complete reports whether all that is read is one answer.
func (a *answer) complete() bool {
	s := &a.scan
	switch {
	case a.watch:
		return true
	case a.form == formObject:
		return s.ended && s.hasKind && s.hasAPI
	case a.form == formDiscovery:
		return s.ended && s.hasKind
	}
	return a.form == formAny || a.form == formProtobuf && a.read > int64(len(protobufPrefix))
}

func (a *answer) fail(err error) error {
	a.err = err
	if a.giveBack() {
		a.rest.begin(time.Now(), err)
	}
	return err
}

// Close closes the body. One that is closed before its end tells nothing of the server.
func (a *answer) Close() error {
	a.closed.Store(true)
	a.giveBack()
	return a.ReadCloser.Close()
}
