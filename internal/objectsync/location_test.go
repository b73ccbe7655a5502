package objectsync_test

import (
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestChosenByMutation shows that a Secret which was there before is not copied up if mutation makes its name of what a
// consumer has entered.
func TestChosenByMutation(t *testing.T) {
	const path = "spec.secretName"
	template := func(s string) *v1alpha1.ResourceMutation {
		return &v1alpha1.ResourceMutation{Template: &v1alpha1.TemplateMutation{Path: path, Template: s}}
	}
	regex := func(pattern, replacement string) *v1alpha1.ResourceMutation {
		return &v1alpha1.ResourceMutation{Regex: &v1alpha1.RegexMutation{
			Path: path, Pattern: pattern, Replacement: replacement,
		}}
	}
	for name, tc := range map[string]struct {
		reason string
		step   *v1alpha1.ResourceMutation
		exists string // a Secret that nobody has
		naming string
		want   bool
	}{
		"Prefix": {
			reason: "The rest of the name is the consumer's.",
			step:   template("b-{{ .Value }}"),
			exists: "b-tls",
		},
		"Suffix": {reason: "Wherever it stands.", step: regex("(.+)", "${1}-app"), exists: "tls-app"},
		"Part":   {reason: "However little it is.", step: regex("^(.).*$", "shared-${1}"), exists: "shared-t"},
		"Other": {
			reason: "Another field is the consumer's, too.",
			step:   template("{{ .LocalObject.spec.local }}"),
			exists: "local-app",
		},
		"Constant": {
			reason: "What the provider alone has named is copied.",
			step:   template("made"),
			exists: "made",
			want:   true,
		},
		"OwnName": {
			reason: "So is what is named like a copy with a name that tells whose it is.",
			step:   template("{{ .RemoteObject.metadata.name }}-app"),
			exists: "copy-app",
			want:   true,
		},
		"ItsName": {
			reason: "But a name that tells nothing is the consumer's.",
			step:   template("{{ .RemoteObject.metadata.name }}-app"), exists: "copy-app",
			naming: "$remoteNamespace-$remoteName",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginService, byReference(path))
			shared := inShared(w, spec)
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
			awaitNextSecond(t, operators)
			w.create(w.above, thing(w.input.Object, set("local", "local-app")))
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

// TestNameThatTellsNothing shows that a Secret which carries a name that the consumer could give its copy is not for
// that.
func TestNameThatTellsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		naming string
		want   bool
	}{
		"Cluster": {
			reason: "The logical cluster tells whose it is.",
			naming: "$remoteClusterName-$remoteName",
			want:   true,
		},
		"Hash": {
			reason: "The same name in another workspace has the same hash.",
			naming: "$remoteNameHash",
			want:   false,
		},
		"Names": {reason: "Names in workspaces are free.", naming: "$remoteNamespace-$remoteName", want: false},
		"Templates": {
			reason: "In whatever way they are put together.",
			naming: "kube-{{ .Object.metadata.name }}",
			want:   false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
			shared := inShared(w, spec)
			spec.Naming.Name = tc.naming
			s := w.syncer(spec)
			operators := newSecret(shared, "tls", "the operator's")
			w.create(w.below, operators)
			awaitNextSecond(t, operators)
			w.create(w.above, thing(w.input.Object))
			w.refused(s, w.input, objectsync.ErrForeign)
			w.patch(w.below, operators, `{"metadata":{"labels":{"app":"`+w.theCopy(w.cluster).GetName()+`"}}}`)
			if _, err := w.sync(s, w.input); errors.Is(err, objectsync.ErrForeign) == tc.want || err != nil && tc.want {
				t.Errorf("%s got %v", tc.reason, err)
			}
			if got := w.secretOf(w.above, w.input.Object.Namespace, "tls"); (got != nil) != tc.want {
				t.Errorf("%s Copied: %t", tc.reason, got != nil)
			}
		})
	}
}
