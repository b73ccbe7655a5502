package objectsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// namespaceIn makes a namespace of the service cluster that nobody has made for copies.
func (m *memory) namespaceIn(name string) {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	u.SetName(name)
	u.SetLabels(map[string]string{"kubernetes.io/metadata.name": name}) // As servers set it.
	m.put(objectsync.Namespaces, u)
}

// inTemplate has the Secrets that field secretName names in a namespace of the service cluster that a template names.
func inTemplate(text string) v1alpha1.RelatedResourceObject {
	all := inPlace(byReference("spec.secretName").RelatedResourceObjectSpec)
	all.Namespace.Template.Template = strings.Replace(all.Namespace.Template.Template, "{{ .Object.spec.place }}", text, 1)
	return all
}

// TestNamespaceOfAnother shows that a namespace which was made for a workspace, or got copies of it, is closed to
// another one whatever is opened, although nothing that is served tells of the copies: they are another provider's, or
// not synced. It stays open where the owner of the service has made or named it for all.
func TestNamespaceOfAnother(t *testing.T) {
	naming := func(namespace string) *v1alpha1.PublishedResourceSpec {
		return &v1alpha1.PublishedResourceSpec{
			Naming: &v1alpha1.ResourceNaming{Namespace: namespace, Name: "$remoteClusterName-$remoteName"},
		}
	}
	down := func(namespace string) *v1alpha1.PublishedResourceSpec {
		return open(related(v1alpha1.OriginKCP, inTemplate(namespace)))
	}
	for name, tc := range map[string]struct {
		reason string
		victim *v1alpha1.PublishedResourceSpec
		there  bool // whether the namespace is there before
		place  string
		want   error
	}{
		"Made":  {reason: "It was made for the copy.", victim: naming(""), place: "c1", want: objectsync.ErrClosed},
		"Found": {reason: "It has the copy.", victim: naming(""), there: true, place: "c1", want: objectsync.ErrClosed},
		"Consumers": {
			reason: "So has one that the consumer names.", victim: naming("{{ .Object.spec.place }}"), there: true, place: "far",
			want: objectsync.ErrClosed,
		},
		"Owners": {
			reason: "And one of many.", victim: naming("far"), there: true, place: "far", want: objectsync.ErrClosed,
		},
		"RelatedMade": {
			reason: "It was made for a related copy.", victim: down("{{ .Object.spec.place }}"), place: "far",
			want: objectsync.ErrClosed,
		},
		"RelatedFound": {
			reason: "A rule gives it to the workspace.", victim: down("of-{{ .ClusterName }}"), there: true, place: "of-c1",
			want: objectsync.ErrClosed,
		},
		"Opened": {
			reason: "The owner has made and opened it.", victim: down("{{ .Object.spec.place }}"), there: true, place: "far",
		},
		"Named": {reason: "The owner has named it.", victim: down("far"), place: "far"},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			if tc.there {
				below.namespaceIn(tc.place)
			}
			enter(w.input, map[string]any{"place": tc.place, "secretName": "theirs"})
			workspaceOf(w.input).secretIn("default", "theirs", "b25l")
			w.settle(w.syncer(tc.victim), w.input)
			below.secretIn(tc.place, "tls", "b25l")
			thief := w.neighbor()
			thief.Holders = nobody{}
			enter(thief, map[string]any{"place": tc.place, "secretName": "tls"})
			up := w.syncer(open(related(v1alpha1.OriginService, inTemplate("{{ .Object.spec.place }}"))))
			if err := w.resync(up, thief); !errors.Is(err, tc.want) {
				t.Errorf("%s Want %v, got %v", tc.reason, tc.want, err)
			}
			if leaked := workspaceOf(thief).valueOf("default", "tls") != ""; leaked != (tc.want == nil) {
				t.Errorf("%s Read: %t", tc.reason, leaked)
			}
			workspaceOf(thief).secretIn("default", "planted", "dHdv")
			enter(thief, map[string]any{"place": tc.place, "secretName": "planted"})
			if err := w.resync(w.syncer(down("{{ .Object.spec.place }}")), thief); !errors.Is(err, tc.want) {
				t.Errorf("%s Planting: want %v, got %v", tc.reason, tc.want, err)
			}
			own := w.syncer(down("far"))
			if err := w.resync(own, thief); err != nil {
				t.Errorf("want what the owner names admitted, got %v", err)
			}
		})
	}
}

// TestSharedNamespace shows that a namespace in which two workspaces have copies is open to them where it is opened,
// and to no other one, also after one of them has left; and that it is not known whose one is that cannot be read.
func TestSharedNamespace(t *testing.T) {
	w, below := withoutServers(t)
	first, second, third := w.input, w.neighbor(), w.neighbor()
	third.Workspace.Cluster = "c3"
	s := w.syncer(&v1alpha1.PublishedResourceSpec{
		Naming: &v1alpha1.ResourceNaming{Namespace: "far", Name: "$remoteClusterName-$remoteName"},
	})
	for _, in := range []objectsync.Input{first, second} {
		enter(in, map[string]any{})
		w.settle(s, in)
	}
	label := func() string {
		return below.get(objectsync.Namespaces, types.NamespacedName{Name: "far"}).GetLabels()[objectsync.LabelCopiesOf]
	}
	if got := label(); got != "" {
		t.Errorf("want the namespace of no one workspace, got that of %q", got)
	}
	secret := inTemplate("{{ .Object.spec.size }}")
	secret.Reference, secret.Template = nil, &v1alpha1.TemplateExpression{Template: "tls"}
	ofPlains := w.syncerOf(plains, open(related(v1alpha1.OriginService, secret)))
	names := func(in objectsync.Input) error {
		in = withPlain(in, "far")
		return w.resync(ofPlains, in)
	}
	got := []bool{names(first) == nil, names(second) == nil, errors.Is(names(third), objectsync.ErrClosed)}
	if diff := cmp.Diff([]bool{true, true, true}, got); diff != "" {
		t.Errorf("the two, and the third refused: -want, +got:\n%s", diff)
	}
	w.remove(s, first)
	if err := names(first); !errors.Is(err, objectsync.ErrClosed) {
		t.Errorf("want it closed to who has left, got %v", err)
	}
	second.Service = blindTo(second.Service, objectsync.Namespaces, errBoom)
	if err := names(second); !errors.Is(err, errBoom) {
		t.Errorf("want it unknown, got %v", err)
	}
}
