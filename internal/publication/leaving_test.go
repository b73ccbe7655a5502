package publication

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// othersFinalizer keeps objects that are deleted.
const othersFinalizer = "example.org/other"

// served is what the filter of the model asks for.
var served = map[string]string{"served": "yes"}

// TestLeavingModel has two shards of kcp, consumers, operators and the provider do random things, and shows that a copy
// is deleted only if its object was seen in deletion since it was last seen alive, and marked only if it is known to be
// unseen for a while or has left the filter, and that a state goes after its copy. When all is shown again, each copy
// is of an object that is served, or marked, and counted so. SYNC_MODEL_STEPS is how many things they do, and
// SYNC_MODEL_SEED makes others of them.
func TestLeavingModel(t *testing.T) {
	steps, first := kube.Setting(t, "SYNC_MODEL_STEPS", 250), kube.Setting(t, "SYNC_MODEL_SEED", 1)
	for seed := first; seed < first+10; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newLeaving(t, seed)
				for i := range steps {
					m.step(i)
				}
				m.finish()
			})
		})
	}
}

// A leaving is the model: what kcp, consumers and operators have done, and the provider.
type leaving struct {
	*testing.T
	sync.Mutex

	rand     *rand.Rand
	service  *apiServer
	shards   []*shard
	tenants  []*tenant
	untold   bool // No APIExportEndpointSlice tells of shards.
	told     Consumers
	did      []string
	config   Config
	provider *publication
	began    time.Time
}

// A shard is an endpoint, and what it does not show.
type shard struct {
	*apiServer
	Endpoint

	gone, unlisted bool
	since          time.Time // when it has begun to deny lists
}

// A tenant is a workspace with one object.
type tenant struct {
	shard   *shard
	object  at // but for the shard
	copy    at
	state   string // its name
	unbound bool   // No binding is shown.
	deleted bool   // The provider has been shown the object in deletion, and not alive since.
	lately  bool   // That was so at the last step, or since.
	outside bool   // Or that it was alive outside the filter.
	unseen  bool   // It was unseen at the last step, and the provider has not been shown it since.
	seen    time.Time
	left    bool // The provider was restarted after the copy had gone, and before the state could.
}

func newLeaving(t *testing.T, seed int) *leaving {
	t.Helper()
	m := &leaving{T: t, rand: rand.New(rand.NewPCG(uint64(seed), 0))}
	hosts := map[string]*apiServer{"service": newAPIServer(&m.Mutex)}
	m.service = hosts["service"]
	m.service.told, m.service.written = func(at, *unstructured.Unstructured) {}, m.check
	for _, host := range []string{"one", "two"} {
		s := newAPIServer(&m.Mutex)
		s.told, s.written = m.tell, func(at, map[string]any) {}
		hosts[host], m.shards = s, append(m.shards, &shard{apiServer: s, Endpoint: Endpoint{URL: "http://" + host}})
	}
	connect := startWired(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts[r.Host].ServeHTTP(w, r)
	}))
	for _, s := range m.shards {
		s.Cluster = connect(s.URL + clusters.AllClusters)
	}
	m.config = Config{Service: connect("http://service"), Sync: thingsWithSecrets()}
	m.config.Sync.Spec.Related, m.config.Sync.Related = nil, nil
	m.config.Sync.Spec.Filter = &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{MatchLabels: served}}
	for _, c := range []string{"a", "b"} {
		o := &tenant{
			shard: m.shards[0], object: at{c, "things", "default", "web"}, copy: at{"", "things", c, "web"}, seen: time.Now(),
		}
		m.tenants = append(m.tenants, o)
	}
	m.follow()
	m.start()
	t.Cleanup(m.stop)
	return m
}

// start starts a provider that knows nothing.
func (m *leaving) start() {
	m.Helper()
	c := m.config
	c.Consumers, c.shared = m.told, newShared()
	p, err := newPublication("things", c, nil, func() {})
	if err != nil {
		m.Fatal(err)
	}
	for _, o := range m.tenants {
		o.state = p.worker.syncer.StateOf(web(o.object.cluster)).Name
		o.deleted, o.lately = false, false
		o.left = o.left || m.service.all[o.copy] == nil && m.stateOf(o) != nil
	}
	m.provider, m.began = p, time.Now()
	p.start(nil)
}

func (m *leaving) stop() {
	m.provider.stop()
	m.provider.worker.events.close()
}

func (m *leaving) stateOf(o *tenant) *unstructured.Unstructured {
	return m.service.all[at{"", "secrets", "states", o.state}]
}

// follow takes over what shards show of bindings, as the reconciler does.
func (m *leaving) follow() {
	c := Consumers{Untold: m.untold, Workspaces: map[string]Workspace{}}
	for _, s := range m.shards {
		if m.untold || s.gone {
			continue
		}
		for _, o := range m.tenants {
			if o.shard == s && !o.unbound && !s.unlisted {
				c.Workspaces[o.object.cluster] = Workspace{Endpoint: s.URL, Bound: true}
			}
		}
		s.Listed = !s.unlisted
		c.Endpoints = append(c.Endpoints, s.Endpoint)
	}
	m.told = c
}

// isSeen reports whether a shard shows a binding and the object, which is nil if it is not there.
func (m *leaving) isSeen(o *tenant) (*unstructured.Unstructured, bool) {
	_, bound := m.told.Workspaces[o.object.cluster]
	u := o.shard.all[o.object]
	return u, bound && u != nil && !o.shard.denied
}

// isKnown reports whether all shards that are told of show what they have. The provider hears of a denial soon.
func (m *leaving) isKnown() bool {
	return !m.told.Untold && !slices.ContainsFunc(m.shards, func(s *shard) bool {
		return slices.Contains(m.told.Endpoints, s.Endpoint) &&
			(!s.Listed || s.denied && time.Since(s.since) >= recheckAfter)
	})
}

// isUnseen reports whether it is known that an object is unseen, and has been long enough.
func (m *leaving) isUnseen(o *tenant) bool {
	_, is := m.isSeen(o)
	return m.isKnown() && (o.unseen || !is && time.Since(o.seen) >= unseenFor)
}

func (m *leaving) isMarked(o *tenant) bool {
	u := m.service.all[o.copy]
	return u != nil && objectsync.IsOrphaned(u)
}

// isOutside reports whether an object, nil for none, is alive and outside the filter.
func isOutside(u *unstructured.Unstructured) bool {
	return u != nil && u.GetDeletionTimestamp() == nil && u.GetLabels()["served"] == ""
}

// tell takes that a shard tells of an object.
func (m *leaving) tell(k at, u *unstructured.Unstructured) {
	for _, o := range m.tenants {
		if o.object == k {
			o.deleted, o.unseen = u.GetDeletionTimestamp() != nil, false
			o.lately, o.outside = o.lately || o.deleted, o.outside || isOutside(u)
		}
	}
}

// check fails if the provider writes what it must not, with a deletion or a patch.
func (m *leaving) check(k at, change map[string]any) {
	mark, _, _ := unstructured.NestedString(change, "metadata", "labels", objectsync.LabelOrphaned)
	for _, o := range m.tenants {
		wrong := ""
		switch {
		case k == o.copy && change == nil && !o.deleted && !o.lately:
			wrong = "the copy is deleted of an object that was not seen in deletion"
		case k == o.copy && mark != "" && !m.isUnseen(o) && !o.outside:
			wrong = "a copy is marked whose object is served, or may be"
		case k.name == o.state && change == nil && m.service.all[o.copy] != nil:
			wrong = "a state is deleted before its copy"
		case k.name == o.state && change == nil && !o.lately && !m.isUnseen(o) && !o.outside:
			wrong = "a state is deleted whose object is served, or may be"
		}
		if wrong != "" {
			m.Errorf("%v: %s\n%v", k, wrong, strings.Join(m.did, "\n"))
		}
	}
}

// step has somebody do something, or several at once, and lets some time pass.
func (m *leaving) step(i int) {
	m.Lock()
	for range 1 + m.rand.IntN(2) {
		m.act(i)
	}
	m.settle(time.Second + time.Duration(m.rand.Int64N(int64(90*time.Second))))
}

// settle has the provider follow what has been done. The caller holds the lock.
func (m *leaving) settle(lasts time.Duration) {
	m.follow()
	c := m.told
	m.Unlock()
	m.provider.adapt(c)
	synctest.Wait()
	time.Sleep(lasts)
	synctest.Wait()
	m.Lock()
	for _, o := range m.tenants {
		// By then a copy that is no orphan has been looked at.
		if _, is := m.isSeen(o); is || lasts > time.Minute && !m.isKnown() && !m.isMarked(o) {
			o.seen = time.Now()
		}
		o.unseen = false
		o.lately, o.outside, o.unseen = o.deleted, isOutside(o.shard.all[o.object]), m.isUnseen(o)
	}
	m.Unlock()
}

// act does one thing. The caller holds the lock.
func (m *leaving) act(i int) {
	o, s := m.tenants[m.rand.IntN(len(m.tenants))], m.shards[m.rand.IntN(len(m.shards))]
	u, lists := o.shard.all[o.object].DeepCopy(), m.rand.IntN(4) == 0
	what := m.rand.IntN(17)
	m.did = append(m.did[max(0, len(m.did)-25):], fmt.Sprintf("%s: step %d: %d of %s at %s, by a list %t",
		time.Now().Format(time.TimeOnly), i, what, o.object.cluster, s.URL, lists))
	switch what {
	case 0:
		o.unbound = !o.unbound
	case 1:
		s.unlisted = !s.unlisted
	case 2:
		s.gone = !s.gone
	case 3:
		m.untold = !m.untold
	case 4:
		s.denied, s.since = !s.denied, time.Now()
		s.cut(s.version)
	case 5:
		s.cut([]int{s.version / 2, s.version * 1000}[m.rand.IntN(2)] % 1e12)
	case 6:
		m.Unlock() // What is under way comes to its end.
		m.stop()
		m.Lock()
		m.follow()
		m.start()
	case 7:
		if m.service.all[o.copy] != nil {
			m.service.set(o.copy, nil)
			o.left = o.left || m.began.Equal(time.Now()) // Nobody has seen the copy.
		}
	case 8:
		m.heal()
	case 9:
		m.put(o, nil, lists)
		o.shard = s
		m.put(o, u, lists)
	default:
		m.change(o, u, what, lists)
	}
}

// change changes an object, nil if it is not there.
func (m *leaving) change(o *tenant, u *unstructured.Unstructured, what int, lists bool) {
	ends := u != nil && u.GetDeletionTimestamp() != nil
	switch {
	case u == nil || what == 10: // It comes, or another one in its place.
		m.put(o, nil, lists)
		u = &unstructured.Unstructured{Object: webIn(o.object.cluster, "").(map[string]any)}
		u.SetUID(uuid.NewUUID())
		u.SetLabels(served)
	case what == 11: // It goes without a word.
		u = nil
	case what == 12 && !ends:
		u.SetFinalizers(nil)
	case what == 13 && !ends:
		u.SetLabels(map[string]string{"served": map[string]string{"": "yes"}[u.GetLabels()["served"]]})
	case !ends:
		if what < 16 {
			u.SetFinalizers(append(u.GetFinalizers(), othersFinalizer))
		}
		u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	case what == 14: // A restore brings it back.
		u.SetDeletionTimestamp(nil)
		lists = true
	default:
		letEnd(u)
	}
	m.put(o, u, lists)
}

// letEnd has only our finalizer keep an object.
func letEnd(u *unstructured.Unstructured) {
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == othersFinalizer }))
}

// put has a shard show an object, nil for none, by an event or by a list after all watches are cut.
func (m *leaving) put(o *tenant, u *unstructured.Unstructured, lists bool) {
	s := o.shard
	if u == nil && s.all[o.object] == nil {
		return
	}
	if lists {
		s.cut(s.version) // What changes now nobody is told of.
	}
	s.set(o.object, u)
}

// heal has all shards show what they have.
func (m *leaving) heal() {
	m.untold = false
	for _, s := range m.shards {
		if s.gone, s.unlisted = false, false; s.denied {
			s.denied = false
			s.cut(s.version)
		}
	}
}

// finish has all shown, all deletions come to an end, and compares what is left.
func (m *leaving) finish() {
	m.Lock()
	m.heal()
	for _, o := range m.tenants {
		o.unbound = false
		if u := o.shard.all[o.object].DeepCopy(); u != nil && u.GetDeletionTimestamp() != nil {
			letEnd(u)
			m.put(o, u, false)
		}
	}
	m.settle(20 * time.Minute)
	var synced, orphaned int64
	for _, o := range m.tenants {
		u, copied, state := o.shard.all[o.object], m.service.all[o.copy], m.stateOf(o)
		isServed := u != nil && u.GetDeletionTimestamp() == nil && u.GetLabels()["served"] != ""
		isMarked := m.isMarked(o)
		if (copied != nil) != (isServed || isMarked) || isServed && isMarked ||
			u != nil && u.GetDeletionTimestamp() != nil || (copied != nil) != (state != nil) && !o.left {
			m.Errorf("object %v\ncopy %v\nstate %v\n%v", u, copied, state != nil, strings.Join(m.did, "\n"))
		}
		if isServed {
			synced++
		}
		if isMarked {
			orphaned++
		}
	}
	if c := m.provider.status(); c.Synced != synced || c.Orphaned != orphaned || c.Failed != 0 {
		m.Errorf("want %d synced and %d orphaned, got %+v", synced, orphaned, c)
	}
}
