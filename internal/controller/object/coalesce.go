package object

import (
	"hash/maphash"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/diffwrite"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
)

// labelComposite is what Crossplane labels the resources of a composite with.
const labelComposite = "crossplane.io/composite"

// seed makes hashes of what resources contain, which are compared within the process only.
var seed = maphash.MakeSeed()

// coalescing decides which changes of the status of Objects of one kind wait.
type coalescing struct {
	writes     *diffwrite.Coalescer
	references *reference.Resolver
	gvk        schema.GroupVersionKind
}

// postpone reports whether the status of an Object is to be written later, and has the Object looked at again then.
func (p *pass) postpone(was, is client.Object) bool {
	before, ok := was.(Object)
	now, also := is.(Object)
	if !ok || !also || p.coalesce == nil {
		return false
	}
	wait := p.coalesce.wait(before, now, p.woken)
	if wait > 0 && (p.retry == 0 || wait < p.retry) {
		p.retry = wait
	}
	return wait > 0
}

// wait returns how long the write of a status waits. A pass that ends in waiting for something is not repeated soon:
// its status is urgent.
func (c *coalescing) wait(was, is Object, awaits bool) time.Duration {
	return c.writes.Wait(diffwrite.Change{
		Name:    client.ObjectKeyFromObject(is),
		Budget:  composite(is),
		Content: maphash.Bytes(seed, is.Observed().Manifest.Raw),
		Urgent:  awaits || !onlySeen(was, is) || c.references.Reads(c.gvk, was, is),
		Passing: !isReady(is),
	})
}

// composite returns the UID of the composite that an Object is a part of, of the Object itself if there is none.
func composite(o Object) types.UID {
	if by := metav1.GetControllerOf(o); by != nil && o.GetLabels()[labelComposite] != "" {
		return by.UID
	}
	return o.GetUID()
}

// onlySeen reports whether two states of an Object differ in no more than what the resource looks like, or why it is
// not ready. All else is needed at once: by who waits for a condition, or by our next pass, which knows what was
// applied and to what from nowhere else.
func onlySeen(was, is Object) bool {
	if is.GetDeletionTimestamp() != nil || !sameOne(was, is) {
		return false
	}
	like, ok := was.DeepCopyObject().(Object)
	if !ok {
		return false
	}
	like.Observed().Manifest = is.Observed().Manifest
	had, has := was.GetCondition(xpv2.TypeReady), is.GetCondition(xpv2.TypeReady)
	if had.Status == has.Status && had.Reason == has.Reason && had.ObservedGeneration == has.ObservedGeneration {
		like.SetConditions(has)
	}
	return diffwrite.SameStatus(like, is)
}

// sameOne reports whether two states of an Object show the same resource, and both show it as one that stays or as one
// that goes.
func sameOne(was, is Object) bool {
	a, b := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	if decode(was.Observed().Manifest.Raw, a) != nil || decode(is.Observed().Manifest.Raw, b) != nil {
		return false
	}
	return a.TypeMeta == b.TypeMeta && a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}
