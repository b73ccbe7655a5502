package publishedresource_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// certNames and keyNames are how many names of Certs and of Secrets each tenant of a model uses.
const certNames, keyNames = 8, 3

// A model is what both sides are to be after tenants have worked for a while, and nobody works any more.
type model struct {
	seed uint64
	s    *shop
	o    *v1alpha1.PublishedResource
	down client.Client // of the service cluster
	all  []*player
}

// A player is a tenant of a model, and the operator that works for it on the service cluster.
type player struct {
	tenant
	*model

	random *rand.Rand
	certs  map[string]map[string]any // specs, by name
	keys   map[string]string         // values of Secrets in the workspace, by name
	issued map[string]string         // values of Secrets of the service cluster, by name
}

// open publishes Certs to tenants.
func (m *model) open(t *testing.T, tenants int, change ...func(*v1alpha1.PublishedResource)) {
	t.Helper()
	s := openShop(t)
	m.s, m.o = &s, s.publishCerts(t, change...)
	for i := range tenants {
		p := &player{
			tenant: s.tenant(t), model: m, random: rand.New(rand.NewPCG(m.seed, uint64(i))),
			certs: map[string]map[string]any{}, keys: map[string]string{}, issued: map[string]string{},
		}
		kube.Create(t, m.down, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.cluster}})
		m.all = append(m.all, p)
	}
}

// play has all tenants work at a time, each for a number of turns.
func (m *model) play(t *testing.T, turns int) {
	t.Helper()
	var playing sync.WaitGroup
	for _, p := range m.all {
		playing.Go(func() {
			for range turns {
				if err := p.turn(t); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	playing.Wait()
}

// settle waits until both sides are what the model says, and are again after one more turn of each tenant.
func (m *model) settle(t *testing.T) {
	t.Helper()
	for turns := range 2 {
		m.play(t, turns)
		for _, p := range m.all {
			kube.EventuallyBy(t, 2*synced, "both sides to be as the model", func() (bool, string) {
				diff := cmp.Diff(p.want(), p.got(t))
				_ = m.s.c.Get(t.Context(), client.ObjectKeyFromObject(m.o), m.o) // For the message only.
				return diff == "", fmt.Sprintf("workspace %s\n%s\n%+v %s", p.path, diff, m.o.Status.Objects, describe(m.o))
			})
		}
	}
}

// turn does one thing of those that tenants and operators do.
func (p *player) turn(t *testing.T) error {
	t.Helper()
	name, key := fmt.Sprintf("cert-%d", p.random.IntN(certNames)), fmt.Sprintf("key-%d", p.random.IntN(keyNames))
	value := strconv.Itoa(p.random.IntN(1 << 20))
	cert := p.s.naming(name, key)
	spec := cert.Object["spec"].(map[string]any)
	spec["size"] = value
	_, exists := p.certs[name]
	switch dice := p.random.IntN(10); {
	case dice < 2:
		return p.playSecret(t, p, p.keys, secretIn(metav1.NamespaceDefault, key, value))
	case dice < 5:
		return p.playSecret(t, p.down, p.issued, secretIn(p.cluster, name+"-tls", value))
	case !exists:
		there, err := p.make(t, p, cert)
		if there {
			p.certs[name] = spec
		}
		return err
	case dice < 7:
		delete(p.certs, name)
		return p.remove(t, p, cert)
	}
	p.certs[name] = spec
	return p.modify(t, p, cert, fmt.Sprintf(`{"spec":{"size":%q,"keyName":%q}}`, value, key))
}

// playSecret creates, changes or deletes a Secret.
func (p *player) playSecret(t *testing.T, c client.Client, known map[string]string, secret *corev1.Secret) error {
	t.Helper()
	name, value := secret.Name, string(secret.Data["key"])
	_, exists := known[name]
	switch {
	case !exists:
		there, err := p.make(t, c, secret)
		if there {
			known[name] = value
		}
		return err
	case p.random.IntN(3) == 0:
		delete(known, name)
		return p.remove(t, c, secret)
	}
	known[name] = value
	return p.modify(t, c, secret, fmt.Sprintf(`{"stringData":{"key":%q}}`, value))
}

// make creates an object, and reports whether it is there. It is not if one of the same name is still being deleted.
func (p *player) make(t *testing.T, c client.Client, o client.Object) (bool, error) {
	t.Helper()
	o.SetResourceVersion("")
	err := c.Create(t.Context(), o)
	if !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	err = c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	return err == nil && o.GetDeletionTimestamp() == nil, client.IgnoreNotFound(err)
}

func (p *player) modify(t *testing.T, c client.Client, o client.Object, body string) error {
	t.Helper()
	return c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(body)))
}

// remove deletes an object as it is read: Kubernetes deletes one unseen that gets its first finalizer meanwhile.
func (p *player) remove(t *testing.T, c client.Client, o client.Object) error {
	t.Helper()
	return client.IgnoreNotFound(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		return c.Delete(t.Context(), o, client.Preconditions{ResourceVersion: new(o.GetResourceVersion())})
	}))
}

// want returns what a tenant is to have on both sides, by name: specs of Certs and values of Secrets, with an
// exclamation mark if they are held.
func (p *player) want() map[string]string {
	out := map[string]string{"states": strconv.Itoa(len(p.certs))}
	for name, value := range p.issued {
		out["below "+name] = value
	}
	for name, value := range p.keys {
		out["above "+name] = value
	}
	for name, spec := range p.certs {
		out["above "+name], out["below "+name] = fmt.Sprint(spec)+"!", fmt.Sprint(spec)
		if value, ok := p.issued[name+"-tls"]; ok {
			out["above "+name+"-tls"] = value
		}
		key := fmt.Sprint(spec["keyName"])
		if value, ok := p.keys[key]; ok {
			out["above "+key], out["below "+key] = value+"!", value
		}
	}
	return out
}

// got returns what it has.
func (p *player) got(t *testing.T) map[string]string {
	t.Helper()
	out, states := map[string]string{}, &corev1.SecretList{}
	kube.List(t, p.down, states, client.InNamespace(p.o.Spec.StateNamespace),
		client.MatchingLabels{objectsync.LabelCluster: p.cluster})
	out["states"] = strconv.Itoa(len(states.Items))
	add := func(key, value string, held bool) {
		if out[key] += value; held {
			out[key] += "!"
		}
	}
	for side, c := range map[string]client.Client{"above ": p, "below ": p.down} {
		certs, secrets, in := p.s.list(), &corev1.SecretList{}, client.InNamespace(metav1.NamespaceDefault)
		if side == "below " {
			in = client.InNamespace(p.cluster)
		}
		kube.List(t, c, certs, in)
		kube.List(t, c, secrets, in)
		for _, u := range certs.Items {
			name := u.GetName()
			if of := u.GetAnnotations()[objectsync.AnnotationName]; of != "" {
				name = of
			}
			add(side+name, fmt.Sprint(u.Object["spec"]), len(u.GetFinalizers()) > 0)
		}
		for _, u := range secrets.Items {
			if u.Type != corev1.SecretTypeServiceAccountToken {
				add(side+u.Name, string(u.Data["key"]), len(u.Finalizers) > 0)
			}
		}
	}
	return out
}

// TestSyncModel has five tenants, and the operators of their copies, do random things at a time: create, change and
// delete objects and Secrets on both sides. When they have done, both sides are as a model says.
// SYNC_MODEL_OPS is how many things they do together, and SYNC_MODEL_SEED makes others of them.
func TestSyncModel(t *testing.T) {
	t.Parallel()
	const tenants = 5
	ops, seed := kube.Setting(t, "SYNC_MODEL_OPS", 500), kube.Setting(t, "SYNC_MODEL_SEED", 1)
	m := &model{seed: uint64(seed), down: local.Client(t)}
	m.open(t, tenants)
	m.play(t, ops/tenants)
	m.settle(t)
}
