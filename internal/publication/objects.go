package publication

import (
	"math"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// pauseFirst is how long an object rests that has failed for the first time.
const pauseFirst = 50 * time.Millisecond

// An object is what a publication knows of one object of a consumer beside what it needs. The lock of the publication
// guards it.
type object struct {
	added    bool // since its last sync began, so that it is not forgotten
	failures int  // in a row
	lasting  bool
	// copyNamespace is that of the copy, as long as its namespace may become empty without it.
	copyNamespace string
	// stateVersion is the resource version of the state as this object has last written it. That tells it nothing new.
	stateVersion string
	// vain is the last patch of the status if it changed nothing: a workspace whose schema lacks a field prunes it, and
	// would be sent it with each sync.
	vain    statusPatch
	known   bool   // It has been synced, or has failed.
	failure string // why it is not synced
	// warned is the last Warning, as long as each sync gives it.
	warned objectsync.Event
	// orphaned means that its copy has been left behind.
	orphaned bool
	// suspect means that the object had a copy when kcp was restored, and has not been seen since.
	suspect bool
	used    int // See mayUse.
}

// A statusPatch is a patch of an object in one version.
type statusPatch struct{ body, version string }

// object returns what is known of an object. The caller holds the lock.
func (p *publication) object(item objectsync.Primary) *object {
	o := p.objects[item]
	if o == nil {
		o = &object{}
		p.objects[item] = o
		p.workspace(item.Cluster).objects++
	}
	return o
}

// update changes what is known of an object.
func (p *publication) update(item objectsync.Primary, change func(*object)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.object(item))
}

// add has an object synced that may be new. Its workspace is not forgotten before.
func (p *publication) add(item objectsync.Primary) {
	p.update(item, func(o *object) { o.added = true })
	p.queue.Add(item)
}

// forget forgets an object of which nothing is left.
func (p *publication) forget(item objectsync.Primary) {
	p.setNeeds(item, nil)
	p.holders.set(item, nil)
	p.setUse(item, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.objects[item]; o == nil || o.added {
		return
	}
	p.changed()
	delete(p.objects, item)
	p.workspace(item.Cluster).objects--
	p.forgetWorkspace(item.Cluster)
}

// pause returns how long an object rests that has failed once more, by the error and by how often it has failed so in a
// row. What is not known yet is looked at soon, what may pass within half a minute. What only a change cures, which is
// a reason by itself to look again, rests for more than six minutes after half a minute of tries, although many that
// are refused together wait for each other. After an outage what lasts may have passed, too.
func (o *object) pause(err error) time.Duration {
	growth, most, lasting := 2.0, 30*time.Second, false
	switch {
	case isEarly(err):
		most = time.Second
	case isLasting(err):
		growth, most, lasting = 20, 10*time.Minute, true
	}
	if lasting != o.lasting {
		o.failures, o.lasting = 0, lasting
	}
	pause := float64(pauseFirst) * math.Pow(growth, float64(o.failures))
	o.failures++
	return time.Duration(min(pause, float64(most)))
}

// settle has an object that failed synced again after a pause.
func (p *publication) settle(item objectsync.Primary, err error) {
	if err != nil {
		var pause time.Duration
		p.update(item, func(o *object) { pause = o.pause(err) })
		p.queue.AddAfter(item, pause)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.objects[item]; o != nil { // Something is left of it.
		o.failures = 0
	}
}

// retry has an object synced that rests, with new pauses if it fails.
func (p *publication) retry(item objectsync.Primary) {
	p.update(item, func(o *object) { o.failures = 0 })
	p.queue.Add(item)
}

// isEarly reports whether an error means that something is not known yet.
func isEarly(err error) bool {
	return informer.IsNotSynced(err) || errors.Is(err, errEndpointGone) || errors.Is(err, errNoBinding)
}

// lasting are causes that only a change of the object, of what has its name or of the spec cures.
var lasting = []error{
	objectsync.ErrForeign, objectsync.ErrExists, objectsync.ErrAmbiguous, objectsync.ErrTooLarge,
	objectsync.ErrNoNamespace, objectsync.ErrUneven, objectsync.ErrInvalidName, objectsync.ErrTooMany,
	objectsync.ErrTooManyNamespaces, objectsync.ErrNoRoom, objectsync.ErrCredential, naming.ErrInvalidName,
	mutation.ErrFailed, gotemplate.ErrFailed, gotemplate.ErrTooCostly, jsonpath.ErrTooLong, errPanic,
}

func isLasting(err error) bool {
	for _, cause := range lasting {
		if errors.Is(err, cause) {
			return true
		}
	}
	return objectsync.RefusalOf(err) != nil
}
