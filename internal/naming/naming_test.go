package naming

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

func object(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func TestName(t *testing.T) {
	type args struct {
		rules     *v1alpha1.ResourceNaming
		scope     v1alpha1.ResourceScope
		namespace string
		name      string
	}
	type want struct {
		name types.NamespacedName
		err  error
	}
	const nsHash, nameHash = "2928c2aa0e510f017f07", "73d08a1ba188f1340dae"
	both := func(ns, name string) want { return want{name: types.NamespacedName{Namespace: ns, Name: name}} }
	for name, tc := range map[string]struct {
		reason string
		args   args
		want   want
	}{
		"Default": {
			reason: "The defaults are the agent's.",
			args:   args{nil, "Namespaced", "objnamespace", "objname"},
			want:   both("cluster1", nsHash+"-"+nameHash),
		},
		"DefaultTemplate": {
			reason: "The default written out is the default.",
			args: args{&v1alpha1.ResourceNaming{
				Name:      "{{ .Object.metadata.namespace | sha3short }}-{{ .Object.metadata.name | sha3short }}",
				Namespace: "{{ .ClusterName }}",
			}, "Namespaced", "objnamespace", "objname"},
			want: both("cluster1", nsHash+"-"+nameHash),
		},
		// api-syncagent has no default name for an object without a namespace.
		"ClusterScoped": {
			reason: "An object without a namespace has a default name.",
			args:   args{nil, "Namespaced", "", "objname"},
			want:   both("cluster1", nameHash),
		},
		"ClusterScopedCopy": {
			reason: "A copy without a namespace is told from that of another workspace.",
			args:   args{nil, "Cluster", "objnamespace", "objname"},
			want:   both("", "cluster1-"+nsHash+"-"+nameHash),
		},
		"ClusterScopedBoth": {
			reason: "So is one of an object without a namespace.",
			args:   args{nil, "Cluster", "", "objname"},
			want:   both("", "cluster1-"+nameHash),
		},
		"ClusterScopedTemplate": {
			reason: "A template can hash a missing namespace.",
			args: args{
				&v1alpha1.ResourceNaming{Name: "x{{ .Object.metadata.namespace | sha3short }}"}, "Namespaced", "", "objname",
			},
			want: both("cluster1", "xa7ffc6f8bf1ed76651c1"),
		},
		"Placeholders": {
			reason: "Placeholders are replaced.",
			args: args{&v1alpha1.ResourceNaming{
				Name: "$remoteNamespace-$remoteName", Namespace: "ns-$remoteClusterName",
			}, "Namespaced", "a", "b"},
			want: both("ns-cluster1", "a-b"),
		},
		"PlaceholderHashes": {
			reason: "Hashes are 20 digits of SHA-1.",
			args: args{
				&v1alpha1.ResourceNaming{Name: "cert-$remoteNamespaceHash-$remoteNameHash"}, "Namespaced", "abc", "abc",
			},
			want: both("cluster1", "cert-a9993e364706816aba3e-a9993e364706816aba3e"),
		},
		"PlaceholderOnce": {
			reason: "What a consumer writes is no placeholder.",
			args:   args{&v1alpha1.ResourceNaming{Name: "$remoteName.x"}, "Cluster", "", "$remoteClusterName"},
			want:   want{err: ErrInvalidName},
		},
		"Static": {
			reason: "A namespace can be shared.",
			args:   args{&v1alpha1.ResourceNaming{Namespace: "kube-system"}, "Namespaced", "objnamespace", "objname"},
			want:   both("kube-system", nsHash+"-"+nameHash),
		},
		"Path": {
			reason: "The path of the workspace can be used.",
			args: args{
				&v1alpha1.ResourceNaming{Namespace: `{{ toString .ClusterPath | replace ":" "-" }}`}, "Namespaced", "", "objname",
			},
			want: both("root-org", nameHash),
		},
		"Upper": {
			reason: "What is no name is refused.",
			args:   args{&v1alpha1.ResourceNaming{Name: "{{ upper .Object.metadata.name }}"}, "Namespaced", "a", "b"},
			want:   want{err: ErrInvalidName},
		},
		"Missing": {
			reason: "So is a value that is missing.",
			args:   args{&v1alpha1.ResourceNaming{Name: "{{ .Object.spec.id }}"}, "Namespaced", "a", "b"},
			want:   want{err: ErrInvalidName},
		},
		"Nothing": {
			reason: "So is nothing.",
			args:   args{&v1alpha1.ResourceNaming{Name: "{{ if false }}x{{ end }}"}, "Namespaced", "a", "b"},
			want:   want{err: ErrInvalidName},
		},
		"LongName": {
			reason: "So is a name that is too long.",
			args:   args{&v1alpha1.ResourceNaming{Name: strings.Repeat("a", 254)}, "Namespaced", "a", "b"},
			want:   want{err: ErrInvalidName},
		},
		"LongNamespace": {
			reason: "So is a namespace that is too long.",
			args:   args{&v1alpha1.ResourceNaming{Namespace: strings.Repeat("a", 64)}, "Namespaced", "a", "b"},
			want:   want{err: ErrInvalidName},
		},
		"Slash": {
			reason: "Nobody gets out of a namespace.",
			args:   args{&v1alpha1.ResourceNaming{Name: "../../secrets/x"}, "Namespaced", "a", "b"},
			want:   want{err: ErrInvalidName},
		},
		"NamespaceUnused": {
			reason: "A rule that is not needed is not looked at.",
			args:   args{&v1alpha1.ResourceNaming{Namespace: "NO"}, "Cluster", "", "objname"},
			want:   both("", "cluster1-"+nameHash),
		},
		"Syntax": {
			reason: "What is no template is refused at once.",
			args:   args{&v1alpha1.ResourceNaming{Name: "{{"}, "Namespaced", "a", "b"},
			want:   want{err: gotemplate.ErrInvalid},
		},
		"Costly": {
			reason: "A template has a limit.",
			args:   args{&v1alpha1.ResourceNaming{Name: "{{ range 1000000000 }}{{ end }}"}, "Namespaced", "a", "b"},
			want:   want{err: gotemplate.ErrTooCostly},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := New(tc.args.rules, tc.args.scope)
			var got want
			if err == nil {
				got.name, err = n.Name(gotemplate.Workspace{Cluster: "cluster1", Path: "root:org"},
					object(tc.args.namespace, tc.args.name))
			}
			got.err = err
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzName looks for names that no server accepts.
func FuzzName(f *testing.F) {
	f.Add("", "", "ns", "name")
	f.Add("$remoteName-$remoteNamespaceHash", "$remoteClusterName", "ns", "name")
	f.Add("{{ .Object.metadata.name | lower }}", "{{ .ClusterName }}", "", "NAME")
	f.Fuzz(func(t *testing.T, name, namespace, objectNamespace, objectName string) {
		n, err := New(&v1alpha1.ResourceNaming{Name: name, Namespace: namespace}, v1alpha1.ScopeNamespaced)
		if err != nil {
			return
		}
		got, err := n.Name(gotemplate.Workspace{Cluster: "cluster1"}, object(objectNamespace, objectName))
		if err != nil {
			return
		}
		if why := append(validation.IsDNS1123Subdomain(got.Name),
			validation.IsDNS1123Label(got.Namespace)...); len(why) > 0 {
			t.Errorf("%q: %v", got, why)
		}
	})
}
