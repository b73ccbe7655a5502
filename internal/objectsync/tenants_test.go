package objectsync_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/sides"
)

// TestHostileNames has three tenants of two APIs enter whatever leads to others by random rules. No value of one gets
// into a workspace of another or into a place of another, and none of the operator into any.
func TestHostileNames(t *testing.T) {
	for seed := range uint64(300) {
		m := newModel(t, rand.New(rand.NewPCG(seed, 0)))
		for range 12 {
			m.step()
			if m.check(); t.Failed() {
				rules, _ := json.Marshal(m.specs) //nolint:errchkjson // It is for people.
				t.Fatalf("seed %d: %s", seed, rules)
			}
		}
	}
}

// A model is a service cluster with three tenants of two APIs. The value of each Secret is whose it is.
type model struct {
	*world
	*rand.Rand

	below   *memory
	specs   [2]*v1alpha1.PublishedResourceSpec
	syncers [2]*objectsync.Syncer
	tenants []objectsync.Workspace
	uids    map[types.NamespacedName]types.UID // of the operator's Secrets
}

const operators = "the operator's"

// apis are the two that are published.
var apis = [2]objectsync.Pair{things, plains}

func newModel(t *testing.T, r *rand.Rand) *model {
	t.Helper()
	w, below := withoutServers(t)
	m := &model{world: w, Rand: r, below: below, uids: map[types.NamespacedName]types.UID{}}
	for i := range m.specs {
		m.specs[i] = m.spec()
		m.syncers[i] = m.newSyncer(objectsync.Config{
			Spec: m.specs[i], Publication: strconv.Itoa(i), Primary: apis[i],
			Related: map[string]objectsync.Pair{"tls": secrets},
		})
	}
	for _, cluster := range []string{"c1", "c2", "c3"} {
		m.tenants = append(m.tenants, objectsync.Workspace{
			Side: newMemory().side(), ShowsAll: sides.ShowsAll,
			Workspace: gotemplate.Workspace{Cluster: cluster, Path: "root:org"},
		})
	}
	for _, ns := range []string{"shared", "kube-system", "states", "default", "vault-c1"} {
		for _, name := range []string{"tls", "c1", "made", "web"} {
			m.below.secretIn(ns, name, operators, func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"app": "tls", objectsync.LabelRelatedCluster: "c1"})
				m.uids[client.ObjectKeyFromObject(u)] = u.GetUID()
			})
		}
	}
	return m
}

func one[T any](m *model, of ...T) T { return of[m.IntN(len(of))] }

// word is what a consumer enters.
func (m *model) word() string {
	return one(m, "c1", "c2", "c3", "c2-tls", "c1-made", "t-c2", "x-c3", "vault-c1", "shared", "kube-system", "states",
		"default", "tls", "made", "web", "obj-state-c1-0")
}

// spec returns random rules, none of which is the owner's word for what is not the consumer's.
func (m *model) spec() *v1alpha1.PublishedResourceSpec {
	text := func(s string) v1alpha1.RelatedResourceObjectSpec {
		return v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{Template: s}}
	}
	const side = `{{ if eq .Side "kcp" }}{{ .Object.metadata.namespace }}{{ else }}`
	object := one(m, byReference("spec.a").RelatedResourceObjectSpec,
		byReference("metadata.name").RelatedResourceObjectSpec,
		text("{{ .Object.spec.a }}"), text("{{ .ClusterName }}-{{ .Object.spec.a }}"),
		text("{{ .Object.spec.a }}-{{ .ClusterName }}"),
		text(`{{ if .Object.spec.b }}{{ .Object.spec.a }}{{ else }}made{{ end }}`),
		text(side+"{{ .Object.spec.a }}{{ end }}"),
		selecting("{{ .Value }}", "{{ .RemoteObject.spec.a }}").RelatedResourceObjectSpec,
		selecting("{{ .RemoteObject.spec.a }}", "{{ .RemoteObject.spec.a }}").RelatedResourceObjectSpec)
	namespace := one(m, nil, nil, new(byReference("spec.b").RelatedResourceObjectSpec), new(text("{{ .Object.spec.b }}")),
		new(text(side+"{{ .Object.spec.b }}{{ end }}")), new(text(side+"x-{{ .ClusterName }}{{ end }}")),
		new(text(side+"shared{{ end }}")), new(text(side+"{{ .Object.spec.b }}-{{ .ClusterName }}{{ end }}")))
	spec := related(one(m, v1alpha1.OriginKCP, v1alpha1.OriginService), v1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: object, Namespace: namespace,
	})
	spec.Related[0].Cleanup = true
	spec.Related[0].ConsumerMayName = one(m, nil, nil, &v1alpha1.ConsumerMayName{
		Namespaces: []v1alpha1.NamePattern{"*"}, Objects: []v1alpha1.NamePattern{"$remoteClusterName-*"},
	})
	spec.Naming = &v1alpha1.ResourceNaming{
		Namespace: one(m, "", "", "t-{{ .ClusterName }}", "shared", "{{ .Object.metadata.namespace }}",
			`{{ .ClusterPath | toString | replace ":" "-" }}`),
		Name: "$remoteClusterName-$remoteName",
	}
	if m.IntN(3) == 0 {
		spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{
			byTemplate("spec.a",
				one(m, "{{ .LocalObject.spec.b }}", "x-{{ .Value }}", "{{ .RemoteObject.metadata.namespace }}")),
		}}
	}
	return spec
}

// step has a tenant make a Secret, enter something or delete its object, or the operator issue a Secret for a copy.
func (m *model) step() {
	i, in := m.IntN(len(apis)), m.world.input
	in.Workspace = one(m, m.tenants...)
	in.Object = types.NamespacedName{Namespace: one(m, "default", "c2", "shared"), Name: fmt.Sprint("web", i)}
	at, mine := apis[i].Workspace.GroupVersionResource, workspaceOf(in)
	was := mine.get(at, in.Object)
	switch {
	case m.IntN(3) == 0:
		n := types.NamespacedName{Namespace: one(m, in.Object.Namespace, m.word()), Name: m.word()}
		if mine.get(objectsync.Secrets, n) == nil {
			mine.secretIn(n.Namespace, n.Name, in.Workspace.Cluster, func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"app": m.word()})
			})
		}
	case was != nil && m.IntN(5) == 0:
		mine.end(at, in.Object)
	case was == nil || was.GetDeletionTimestamp() == nil:
		u := objectOf(apis[i].Workspace, in.Object, map[string]any{})
		if was != nil {
			u = was.DeepCopy()
		}
		u.Object["spec"] = map[string]any{"a": m.word(), "b": m.word()}
		mine.put(at, u)
	}
	if m.IntN(3) == 0 {
		m.issue(in.Workspace.Cluster, apis[i])
	}
	_ = m.resync(m.syncers[i], in) // Most of what is entered is refused.
}

// issue has the operator make a Secret for a copy, which owns it.
func (m *model) issue(cluster string, api objectsync.Pair) {
	for n, u := range m.below.all[api.Service.GroupVersionResource] {
		at := types.NamespacedName{Namespace: n.Namespace, Name: m.word()}
		if u.GetLabels()[objectsync.LabelCluster] == cluster && m.below.get(objectsync.Secrets, at) == nil {
			m.below.secretIn(at.Namespace, at.Name, cluster, func(s *unstructured.Unstructured) {
				s.SetOwnerReferences(ownedBy(u))
				s.SetLabels(map[string]string{"app": m.word()})
			})
			return
		}
	}
}

// check fails if something is where it may not be.
func (m *model) check() {
	for _, w := range m.tenants {
		for n, u := range w.Writer.(*memory).all[objectsync.Secrets] {
			if got := u.Object["data"].(map[string]any)["k"]; got != w.Cluster {
				m.Errorf("workspace %s has Secret %s of %s", w.Cluster, n, got)
			}
		}
	}
	for n, u := range m.below.all[objectsync.Secrets] {
		value, _ := u.Object["data"].(map[string]any)["k"].(string)
		if uid := m.uids[n]; uid != "" && (uid != u.GetUID() || value != operators) {
			m.Errorf("Secret %s of the operator is of %s", n, value)
		}
		of := value
		for _, w := range m.tenants {
			if n.Namespace == w.Cluster || strings.HasSuffix(n.Namespace, "-"+w.Cluster) {
				of = w.Cluster
			}
		}
		isCopy := u.GetLabels()[objectsync.LabelRelatedCluster] != "" && m.uids[n] == ""
		if opened := strings.HasPrefix(n.Name, value+"-"); isCopy && (of != value || n.Namespace == "kube-system" ||
			n.Namespace == "states" || n.Namespace == "vault-c1") && !opened {
			m.Errorf("Secret of %s is planted as %s", value, n)
		}
	}
	for n := range m.uids {
		if m.below.get(objectsync.Secrets, n) == nil {
			m.Errorf("Secret %s of the operator is gone", n)
		}
	}
}
