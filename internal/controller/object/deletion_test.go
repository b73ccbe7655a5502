package object_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// misshapen returns the manifest of a ConfigMap that no API server accepts.
func misshapen(namespace string) build.Manifest {
	m := build.ConfigMap(namespace, "settings")
	m["data"] = map[string]any{"color": map[string]any{"name": "blue"}}
	return m
}

// TestDeletionNeedsNoGoodSpec shows that an Object whose spec has been spoiled can be deleted, and takes along the
// resource it has made.
func TestDeletionNeedsNoGoodSpec(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	for name, s := range map[string]struct {
		reason string
		change func(tns string, o build.Object)
		want   xpv2.ConditionReason
	}{
		"ManifestMisshapen": {
			reason: "A manifest that cannot be applied does not hold up deletion.",
			change: func(tns string, o build.Object) { o.Desired().ForProvider.Manifest = build.Raw(misshapen(tns)) },
			want:   commonv1.ReasonInvalidManifest,
		},
		"ManifestInvalid": {
			reason: "Nor does one that the target refuses, as for a field that is immutable.",
			change: func(tns string, o build.Object) {
				o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(tns, "settings", "a key with spaces", "x"))
			},
			want: commonv1.ReasonInvalidManifest,
		},
		"List": {
			reason: "Nor one that is a list.",
			change: func(_ string, o build.Object) {
				o.Desired().ForProvider.Manifest = build.Raw(build.Manifest{
					"apiVersion": "v1", "kind": "List", "items": []any{},
				})
			},
			want: commonv1.ReasonInvalidManifest,
		},
		"NamespaceRemoved": {
			reason: "A manifest that lost its namespace was applied when it had one.",
			change: func(_ string, o build.Object) {
				o.Desired().ForProvider.Manifest = build.Raw(build.Manifest{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings"},
				})
			},
			want: commonv1.ReasonInvalidManifest,
		},
		"KindUnknown": {
			reason: "The target need not serve the kind the manifest names now.",
			change: func(tns string, o build.Object) {
				m := build.ConfigMap(tns, "settings", "color", "blue")
				m["kind"] = "ConfigMapp"
				o.Desired().ForProvider.Manifest = build.Raw(m)
			},
			want: commonv1.ReasonUnknownKind,
		},
		"GroupUnknown": {
			reason: "Nor its group.",
			change: func(tns string, o build.Object) {
				m := build.ConfigMap(tns, "settings", "color", "blue")
				m["apiVersion"] = "nobody.example.org/v1"
				o.Desired().ForProvider.Manifest = build.Raw(m)
			},
			want: commonv1.ReasonUnknownKind,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, scope build.Scope) {
				t.Cleanup(func() {
					if t.Failed() {
						t.Log(s.reason)
					}
				})
				tns := target.Namespace(t)
				ns, pc := connect(t, c, scope, targetUser(t))
				o := scope.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
				kube.Create(t, c, o)
				awaitReady(t, c, o)
				made := observed(t, o)

				edit(t, c, o, func() { s.change(tns, o) })
				awaitCondition(t, c, o, failed(s.want))
				kube.Remove(t, c, o)
				kube.AwaitGone(t, tc, made)
			})
		})
	}
}

// TestDeletionOfNeverApplied shows that an Object which could never be applied can be deleted, and that a resource of
// its name is left alone.
func TestDeletionOfNeverApplied(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		theirs := emptySettings(w.target)
		kube.Create(t, w.tc, theirs)
		o := w.object(misshapen(w.target))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidManifest))
		kube.Remove(t, w.c, o)
		if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
			t.Errorf("a resource this Object has not applied must survive: %v", err)
		}
	})
}
