package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// sharer returns an Object for the ConfigMap shared, which may be that of others too, with a key of its own in it.
func (w world) sharer(name string, policies xpv2.ManagementPolicies) build.Object {
	o := w.scope.Object(w.namespace, w.target+"-"+name, w.config,
		build.ConfigMap(w.target, "shared", "color", "blue", name, "yes"))
	o.Desired().SharedResource = xpv2.DeletionOrphan
	if policies != nil {
		o.SetManagementPolicies(policies)
	}
	return o
}

// TestSharedResource shows with whom a resource goes that two Objects have.
func TestSharedResource(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		other  xpv2.ManagementPolicies
		change func(first build.Object)
		moves  bool
		kept   bool
	}{
		"Kept":        {reason: "The other deletes it in turn.", kept: true},
		"Moved":       {reason: "So it does if the first one only names another resource.", moves: true, kept: true},
		"OnlyDeletes": {reason: "So does one that has not made it.", other: observeDelete, kept: true},
		"OnlyLooks":   {reason: "One that would not delete it does not keep it.", other: observeOnly},
		"Alone": {
			reason: "Without the wish to share it goes with any of its Objects. Policies do not let the other make it again.",
			other:  observeDelete,
			change: func(first build.Object) { first.Desired().SharedResource = "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				first, other := w.sharer("first", nil), w.sharer("other", tc.other)
				if tc.change != nil {
					tc.change(first)
				}
				createReady(t, w.c, first, other)
				was, is := w.kept("shared"), w.kept("shared")
				w.exists(t, was, true)
				if tc.moves {
					setManifest(t, w.c, first, build.ConfigMap(w.target, "own"))
					w.awaitData(t, "own")
				} else {
					kube.Remove(t, w.c, first)
				}
				w.exists(t, is, tc.kept)
				if tc.kept {
					want := map[string]string{"color": "blue", "other": "yes"}
					if tc.other != nil {
						want = nil // Nobody else has applied a field.
					}
					w.awaitMap(t, "shared", want)
					if is.GetUID() != was.GetUID() {
						t.Errorf("%s It is another one than before", tc.reason)
					}
				}
				kube.Remove(t, w.c, other)
				w.exists(t, w.kept("shared"), false)
			})
		})
	}
}

// TestSharedByDeleted shows that Objects which are deleted at once leave nothing to each other, in whichever order they
// are looked at.
func TestSharedByDeleted(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		all := []build.Object{w.sharer("one", nil), w.sharer("two", nil), w.sharer("three", nil), w.sharer("four", nil)}
		kube.Create(t, w.c, plain(all)...)
		awaitReady(t, w.c, all...)
		kube.Delete(t, w.c, plain(all)...)
		kube.AwaitGone(t, w.c, plain(all)...)
		w.exists(t, w.kept("shared"), false)
	})
}
