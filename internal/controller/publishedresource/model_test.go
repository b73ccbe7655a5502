package publishedresource_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// certNames and keyNames are how many names of Certs and of Secrets each tenant of a model uses.
	certNames, keyNames = 8, 3
	// insistence is how long a tenant of a model tries again while a server is away.
	insistence = 4 * time.Minute
	// labelSkip is what the filter of a model leaves out.
	labelSkip = "skip"
)

// A model is what both sides are to be after tenants have worked for a while, and nobody works any more.
type model struct {
	s     *shop
	o     *v1alpha1.PublishedResource
	below client.Client // of the service cluster
	away  atomic.Bool   // The service cluster is away, so that nobody works there.
	pace  time.Duration // between two turns of a tenant
	all   []*player
}

// A player is a tenant of a model, and what works for it on the service cluster.
type player struct {
	tenant
	*model

	random *rand.Rand
	certs  map[string]modelCert
	keys   map[string]string    // values of Secrets in the workspace, by name
	tls    map[string]string    // values of Secrets of the service cluster, by name of the Cert
	notes  map[types.UID]string // what has been changed of copies
}

type modelCert struct {
	size, key string
	skipped   bool
}

// fields returns the spec of a Cert.
func (c modelCert) fields(name string) map[string]any {
	return map[string]any{"size": c.size, "keyName": c.key, "secretName": name + "-tls"}
}

// newModel publishes Certs to tenants, with a filter that leaves some of them out.
func newModel(t *testing.T, tenants int, seed uint64, change ...func(*v1alpha1.PublishedResource)) *model {
	t.Helper()
	s := openShop(t)
	m := &model{s: &s, below: s.c}
	m.o = s.publishCerts(t, append(change, func(o *v1alpha1.PublishedResource) {
		o.Spec.Filter = &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: labelSkip, Operator: metav1.LabelSelectorOpDoesNotExist},
			},
		}}
	})...)
	for i := range tenants {
		m.all = append(m.all, &player{
			tenant: s.tenant(t), model: m, random: rand.New(rand.NewPCG(seed, uint64(i))),
			certs: map[string]modelCert{}, keys: map[string]string{}, tls: map[string]string{},
			notes: map[types.UID]string{},
		})
	}
	return m
}

// play has all tenants work at a time, each for a number of turns, or until it is told to end.
func (m *model) play(t *testing.T, turns int, end <-chan struct{}) {
	t.Helper()
	var playing sync.WaitGroup
	for _, p := range m.all {
		playing.Go(func() {
			for range turns {
				select {
				case <-end:
					return
				case <-time.After(m.pace):
				}
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
		m.play(t, turns, nil)
		kube.EventuallyBy(t, 2*synced, "both sides to be as the model", func() (bool, string) {
			diff := m.diff(t)
			_ = m.s.c.Get(t.Context(), client.ObjectKeyFromObject(m.o), m.o) // For the message only.
			return diff == "", fmt.Sprintf("%s\n%+v %s", diff, m.o.Status.Objects, describe(m.o))
		})
	}
}

// turn does one thing of those that tenants and operators do.
func (p *player) turn(t *testing.T) error {
	t.Helper()
	name := fmt.Sprintf("cert-%d", p.random.IntN(certNames))
	value := strconv.Itoa(p.random.IntN(1 << 20))
	_, exists := p.certs[name]
	dice := p.random.IntN(100) //nolint:mnd // The numbers below are percentages.
	switch {
	case dice < 10:
		return p.playKey(t, fmt.Sprintf("key-%d", p.random.IntN(keyNames)), value)
	case dice < 40 && !p.away.Load():
		return p.operate(t, name, value)
	case !exists:
		return p.addCert(t, name, value)
	case dice < 60:
		return p.deleteCert(t, name)
	case dice < 70:
		return p.relabel(t, name)
	}
	return p.changeCert(t, name, value)
}

// insist does something until its outcome is certain.
func insist(t *testing.T, do func() error) error {
	t.Helper()
	for end := time.Now().Add(insistence); ; time.Sleep(100 * time.Millisecond) {
		err := do()
		// As a kcp says that has just started.
		missing := apierrors.IsNotFound(err) && !strings.Contains(err.Error(), "workspaces.tenancy.kcp.io")
		certain := err == nil || apierrors.IsAlreadyExists(err) || missing || apierrors.IsInvalid(err) ||
			apierrors.IsConflict(err)
		if certain || time.Now().After(end) {
			return err
		}
	}
}

// make creates an object, and reports whether it is there. It is not if one of the same name is still being deleted.
func (p *player) make(t *testing.T, c client.Client, o client.Object) (bool, error) {
	t.Helper()
	err := insist(t, func() error {
		o.SetResourceVersion("")
		return c.Create(t.Context(), o)
	})
	if !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	err = insist(t, func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(o), o) })
	return err == nil && o.GetDeletionTimestamp() == nil, client.IgnoreNotFound(err)
}

func (p *player) modify(t *testing.T, c client.Client, o client.Object, body string) error {
	t.Helper()
	return insist(t, func() error {
		return c.Patch(t.Context(), o,
			client.RawPatch(types.MergePatchType, []byte(body)))
	})
}

func (p *player) remove(t *testing.T, c client.Client, o client.Object) error {
	t.Helper()
	return client.IgnoreNotFound(insist(t, func() error { return c.Delete(t.Context(), o) }))
}

func (p *player) pickKey() string {
	if i := p.random.IntN(keyNames + 1); i < keyNames {
		return fmt.Sprintf("key-%d", i)
	}
	return "" // None.
}

func (p *player) addCert(t *testing.T, name, value string) error {
	t.Helper()
	c := modelCert{size: value, key: p.pickKey()}
	u := p.s.cert(name)
	u.Object["spec"] = c.fields(name)
	there, err := p.make(t, p, u)
	if there {
		p.certs[name] = c
	}
	return err
}

func (p *player) changeCert(t *testing.T, name, value string) error {
	t.Helper()
	c := p.certs[name]
	c.size, c.key = value, p.pickKey()
	p.certs[name] = c
	return p.modify(t, p, p.s.cert(name), fmt.Sprintf(`{"spec":{"size":%q,"keyName":%q}}`, c.size, c.key))
}

func (p *player) relabel(t *testing.T, name string) error {
	t.Helper()
	c := p.certs[name]
	c.skipped = !c.skipped
	p.certs[name] = c
	label := "null"
	if c.skipped {
		label = `"yes"`
	}
	return p.modify(t, p, p.s.cert(name), fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, labelSkip, label))
}

func (p *player) deleteCert(t *testing.T, name string) error {
	t.Helper()
	delete(p.certs, name)
	return p.remove(t, p, p.s.cert(name))
}

// playKey creates, changes or deletes a Secret of the workspace.
func (p *player) playKey(t *testing.T, name, value string) error {
	t.Helper()
	_, exists := p.keys[name]
	secret := secretIn(metav1.NamespaceDefault, name, value)
	switch {
	case !exists:
		there, err := p.make(t, p, secret)
		if there {
			p.keys[name] = value
		}
		return err
	case p.random.IntN(3) == 0:
		delete(p.keys, name)
		return p.remove(t, p, secret)
	}
	p.keys[name] = value
	return p.modify(t, p, secret, fmt.Sprintf(`{"stringData":{"key":%q}}`, value))
}

// operate does what operators do on the service cluster: change a copy or its status, or make, change or delete its
// Secret.
func (p *player) operate(t *testing.T, name, value string) error {
	t.Helper()
	list := p.list(p.s.group+"/v1", "CertList")
	err := insist(t, func() error {
		return p.below.List(t.Context(), list, client.MatchingLabels{objectsync.LabelCluster: p.cluster})
	})
	if err != nil {
		return err
	}
	for _, u := range list.Items {
		if u.GetAnnotations()[objectsync.AnnotationName] == name {
			return p.operateOn(t, &u, name, value)
		}
	}
	return nil // There is no copy to work on.
}

func (p *player) operateOn(t *testing.T, copied *unstructured.Unstructured, name, value string) error {
	t.Helper()
	switch p.random.IntN(3) {
	case 0:
		u := copied.DeepCopy()
		err := p.modify(t, p.below, u,
			fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"note":%q}}`, copied.GetUID(), value))
		if err == nil {
			p.notes[copied.GetUID()] = value
		}
		if apierrors.IsConflict(err) {
			err = nil
		}
		return client.IgnoreNotFound(err)
	case 1:
		body := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"phase":%q}}`, value))
		return client.IgnoreNotFound(insist(t,
			func() error { return p.below.Status().Patch(t.Context(), copied, body) }))
	}
	secret := secretIn(p.cluster, name+"-tls", value)
	_, exists := p.tls[name]
	switch {
	case !exists:
		there, err := p.make(t, p.below, secret)
		if there {
			p.tls[name] = value
		}
		return err
	case p.random.IntN(3) == 0:
		delete(p.tls, name)
		return p.remove(t, p.below, secret)
	}
	p.tls[name] = value
	return p.modify(t, p.below, secret, fmt.Sprintf(`{"stringData":{"key":%q}}`, value))
}
