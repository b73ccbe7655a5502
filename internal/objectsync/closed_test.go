package objectsync_test

import (
	"context"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// inPlace has related objects in the namespace of the service cluster that field place of the consumer's object names.
func inPlace(name v1alpha1.RelatedResourceObjectSpec) v1alpha1.RelatedResourceObject {
	return v1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: name,
		Namespace: &v1alpha1.RelatedResourceObjectSpec{
			Template: &v1alpha1.TemplateExpression{
				Template: `{{ if eq .Side "kcp" }}{{ .Object.metadata.namespace }}{{ else }}{{ .Object.spec.place }}{{ end }}`,
			},
		},
	}
}

// TestClosedDestinations shows in which namespaces of the service cluster a consumer can plant a Secret.
func TestClosedDestinations(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		place  func(w *world, other string) string
		opened v1alpha1.NamePattern // none if empty
		naming *v1alpha1.ResourceNaming
		want   bool
	}{
		"Anywhere": {
			reason: "By default no namespace can be named.",
			place:  func(w *world, _ string) string { return w.state + "-a" },
		},
		"Opened": {
			reason: "The service owner can open one.",
			place:  func(w *world, _ string) string { return w.state + "-a" },
			opened: "*-a",
			want:   true,
		},
		"OfCopy": {
			reason: "That of the copy is open.",
			place:  func(w *world, _ string) string { return w.cluster },
			want:   true,
		},
		"System": {
			reason: "That of the system never is.",
			place:  func(*world, string) string { return "kube-system" },
			opened: "*",
		},
		"States": {
			reason: "Nor that of the states.",
			place:  func(w *world, _ string) string { return w.state },
			opened: "*",
		},
		"Others": {
			reason: "Nor that of another workspace.",
			place:  func(_ *world, other string) string { return other },
			opened: "*",
		},
		"OwnByPattern": {
			reason: "A pattern can have the name of the logical cluster.",
			place:  func(w *world, _ string) string { return w.cluster + "-db" }, opened: "$remoteClusterName-*",
			want: true,
		},
		"OthersByPattern": {
			reason: "That is of no use to others.",
			place:  func(_ *world, other string) string { return other + "-db" }, opened: "$remoteClusterName-*",
		},
		"SharedOfCopy": {
			reason: "In a namespace of all, only what names tell apart can be named.",
			place:  func(w *world, _ string) string { return w.state + "-a" },
			naming: &v1alpha1.ResourceNaming{Namespace: "$place", Name: "$remoteClusterName-$remoteNameHash"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginKCP, inPlace(byReference("spec.secretName").RelatedResourceObjectSpec))
			if tc.opened != "" {
				spec.Related[0].ConsumerMayName = &v1alpha1.ConsumerMayName{
					Namespaces: []v1alpha1.NamePattern{tc.opened}, Objects: []v1alpha1.NamePattern{"tls"},
				}
			}
			other := w.tenant()
			place := tc.place(w, other.Workspace.Cluster)
			w.ensureNamespace(place)
			if tc.naming != nil {
				spec.Naming = &v1alpha1.ResourceNaming{Namespace: place, Name: tc.naming.Name}
			}
			s := w.syncer(spec)
			w.create(w.above, thing(other.Object, set("place", other.Workspace.Cluster)))
			w.mustSync(s, other)
			w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "planted"))
			w.create(w.above, thing(w.input.Object, set("place", place)))
			_, err := w.sync(s, w.input)
			if errors.Is(err, objectsync.ErrClosed) == tc.want || err != nil && tc.want {
				t.Errorf("%s got %v", tc.reason, err)
			}
			if got := w.secretOf(w.below, place, "tls"); (got != nil) != tc.want {
				t.Errorf("%s Planted: %t", tc.reason, got != nil)
			}
		})
	}
}

// TestClosedPrimary shows that no rule for names lets a consumer have copies in a namespace of the system.
func TestClosedPrimary(t *testing.T) {
	w := newWorld(t)
	in := w.input
	spec := &v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Namespace: "{{ .Object.spec.place }}"}}
	w.create(w.above, thing(in.Object, set("place", "kube-system")))
	w.refused(w.syncer(spec), in, objectsync.ErrForeign)
	if n := len(w.copies(w.cluster)); n != 0 {
		t.Errorf("want no copy, got %d", n)
	}
}

// TestAdoptedByDefault shows that an object which belongs to nobody becomes a copy only where no other workspace can
// have objects, unless the service owner says so.
func TestAdoptedByDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		naming string
		policy v1alpha1.ExistingObjectsPolicy
		want   bool
	}{
		"Unique":   {naming: "$remoteClusterName-$remoteName", want: true},
		"Named":    {naming: "$remoteName"},
		"Declared": {naming: "$remoteName", policy: v1alpha1.ExistingObjectsAdopt, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := &v1alpha1.PublishedResourceSpec{ExistingObjects: tc.policy}
			shared := inShared(w, spec)
			spec.Naming.Name = tc.naming
			there := thing(types.NamespacedName{Namespace: shared, Name: "web"})
			if name == "Unique" {
				there.SetName(w.cluster + "-web")
			}
			there.SetAPIVersion("example.org/v1")
			w.create(w.below, there)
			w.create(w.above, thing(w.input.Object))
			_, err := w.sync(w.syncer(spec), w.input)
			if errors.Is(err, objectsync.ErrExists) == tc.want || err != nil && tc.want {
				t.Errorf("got %v", err)
			}
			if got := len(w.copies(w.cluster)) == 1; got != tc.want {
				t.Errorf("want it taken over %t, got %t", tc.want, got)
			}
		})
	}
}

// TestReplacedMeanwhile shows that an object of the service cluster which takes the place of one that was copied is
// admitted anew.
func TestReplacedMeanwhile(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
	shared := inShared(w, spec)
	s := w.syncer(spec)
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	mine := newSecret(shared, "tls", "mine")
	mine.OwnerReferences = ownedBy(w.theCopy(w.cluster))
	w.create(w.below, mine)
	w.mustSync(s, w.input)
	if got := w.secretOf(w.above, w.input.Object.Namespace, "tls")["k"]; got != "mine" {
		t.Fatalf("want the Secret that the copy owns, got %q", got)
	}
	kube.Delete(t, w.below, mine)
	w.create(w.below, newSecret(shared, "tls", "another's"))
	w.refused(s, w.input, objectsync.ErrClosed)
	if got := w.secretOf(w.above, w.input.Object.Namespace, "tls")["k"]; got != "mine" {
		t.Errorf("leaked: %q", got)
	}
}

// TestHiddenIsNotGone shows that what a workspace hides stays as it is on both sides, and goes on when it is shown
// again.
func TestHiddenIsNotGone(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	w.create(w.above, thing(w.input.Object))
	origin := newSecret(w.input.Object.Namespace, "tls", "one")
	w.create(w.above, origin)
	w.mustSync(s, w.input)
	hidden := w.input
	hidden.Workspace.Side = blindTo(hidden.Workspace.Side, objectsync.Secrets,
		objectsync.NewClaimRefusal(objectsync.Secrets.GroupResource()))
	above, below := w.writes(func() {
		results, err := w.sync(s, hidden)
		if objectsync.RefusalOf(err) == nil || reasons(results) != objectsync.ReasonClaimMissing {
			t.Errorf("want the consumer told of the claim, got %q, %v", reasons(results), err)
		}
	})
	if len(above)+len(below) > 0 || w.secretOf(w.below, w.cluster, "tls")["k"] != "one" {
		t.Errorf("want nothing written, and the copy kept, got %v %v", above, below)
	}
	w.patch(w.above, origin, `{"data":{"k":"dHdv"}}`)
	w.mustSync(s, w.input)
	if got := w.secretOf(w.below, w.cluster, "tls")["k"]; got != "two" {
		t.Errorf("want the copy kept in step again, got %q", got)
	}

	w.patch(w.above, origin, `{"metadata":{"finalizers":null}}`)
	kube.Delete(t, w.above, origin)
	some := w.input
	some.Workspace.ShowsAll = func(context.Context, schema.GroupResource) (bool, error) { return false, nil }
	above, below = w.writes(func() {
		if _, err := w.sync(s, some); objectsync.RefusalOf(err) == nil || objectsync.RefusalOf(err).Hidden != "tls" {
			t.Errorf("want to be told that the object may be hidden, got %v", err)
		}
	})
	if len(above)+len(below) > 0 {
		t.Errorf("want nothing written for what may be hidden, got %v %v", above, below)
	}
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "tls") != nil {
		t.Error("want the copy gone with what a workspace that shows all does not show")
	}
}

// TestChosenByMutation shows that a Secret which was there before is not copied up because mutation makes its name, of
// whatever, unless the service owner opens it.
func TestChosenByMutation(t *testing.T) {
	const path = "spec.secretName"
	template := func(s string) *v1alpha1.ResourceMutation {
		return &v1alpha1.ResourceMutation{Template: &v1alpha1.TemplateMutation{Path: path, Template: s}}
	}
	const own v1alpha1.NamePattern = "$remoteClusterName-*"
	for name, tc := range map[string]struct {
		reason string
		step   *v1alpha1.ResourceMutation
		exists string // a Secret that nobody has
		naming string
		opened v1alpha1.NamePattern
		want   bool
	}{
		"Constant": {
			reason: "Whatever mutation makes, the reference is the consumer's.",
			step:   template("made"),
			exists: "made",
		},
		"ConstantOpened": {
			reason: "The owner opens what mutation makes.",
			step:   template("made"),
			exists: "made",
			opened: "made",
			want:   true,
		},
		"OwnNameOpened": {
			reason: "One that tells whose it is can be opened for all.",
			step:   template("{{ .RemoteObject.metadata.name }}-app"),
			exists: "copy-app",
			opened: own,
			want:   true,
		},
		"ItsNameOpened": {
			reason: "And no other one with it.",
			step:   template("{{ .RemoteObject.metadata.name }}-app"), exists: "copy-app",
			naming: "$remoteNamespace-$remoteName",
			opened: own,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginService, byReference(path))
			shared := inShared(w, spec)
			if tc.opened != "" {
				spec.Related[0].ConsumerMayName = &v1alpha1.ConsumerMayName{Objects: []v1alpha1.NamePattern{tc.opened}}
			}
			spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{*tc.step}}
			copied := w.cluster + "-" + gotemplate.ShortSHA1("web")
			if tc.naming != "" {
				spec.Naming.Name, copied = tc.naming, w.input.Object.Namespace+"-web"
			}
			if tc.exists == "copy-app" {
				tc.exists = copied + "-app"
			}
			operators := newSecret(shared, tc.exists, "the operator's")
			w.create(w.below, operators)
			w.create(w.above, thing(w.input.Object))
			if _, err := w.sync(w.syncer(spec), w.input); errors.Is(err, objectsync.ErrForeign) == tc.want ||
				err != nil && tc.want {
				t.Errorf("%s got %v", tc.reason, err)
			}
			if got := w.read(w.input.Workspace.Side, secret,
				types.NamespacedName{Namespace: w.input.Object.Namespace, Name: "tls"}); (got != nil) != tc.want {
				t.Errorf("%s Copied: %t", tc.reason, got != nil)
			}
		})
	}
}

// TestNameThatTellsNothing shows that a Secret in a shared namespace which has the name of the copy, or our own marks,
// in a label is not for the consumer of that: anybody may have written it.
func TestNameThatTellsNothing(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
	shared := inShared(w, spec)
	s := w.syncer(spec)
	operators := newSecret(shared, "tls", "the operator's")
	w.create(w.below, operators)
	w.create(w.above, thing(w.input.Object))
	w.refused(s, w.input, objectsync.ErrClosed)
	for label, value := range map[string]string{
		"app": w.theCopy(w.cluster).GetName(), objectsync.LabelRelatedCluster: w.cluster, objectsync.LabelCluster: w.cluster,
	} {
		w.patch(w.below, operators, `{"metadata":{"labels":{"`+label+`":"`+value+`"}}}`)
		w.refused(s, w.input, objectsync.ErrClosed)
	}
	if got := w.secretOf(w.above, w.input.Object.Namespace, "tls"); got != nil {
		t.Errorf("leaked: %v", got)
	}
}
