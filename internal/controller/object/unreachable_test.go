package object_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// nowhere returns the configuration of a server at an address that is none.
func nowhere(addr string) *rest.Config { return &rest.Config{Host: "https://" + addr} }

// TestTargetRestarts shows that an Object of a target that goes down says so, and is kept again when the target is
// back.
func TestTargetRestarts(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		kube.Figure(t, "recovery", func() time.Duration {
			w := newWorld(t, c, s)
			o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))

			target.Stop(t)
			setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
			target.Restart(t)
			back := time.Now()
			awaitReady(t, c, o)
			took := time.Since(back)
			key := types.NamespacedName{Namespace: w.target, Name: "settings"}
			cm := awaitData(t, target.Client(t), key, map[string]string{"color": "red"})

			// The watch is back too.
			cm.Data["color"] = "green"
			kube.Update(t, target.Client(t), cm)
			awaitData(t, target.Client(t), key, map[string]string{"color": "red"})
			return took
		})
	})
}

// TestDeadTargetDelaysNoOther shows that 300 Objects of a server which never answers do not keep 20 Objects of another
// from being ready.
func TestDeadTargetDelaysNoOther(t *testing.T) {
	const dead, living, within = 300, 20, 10 * time.Second
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		kube.Figure(t, "living Objects beside those of a dead target", func() time.Duration {
			tns := target.Namespace(t)
			dns, dpc := connect(t, c, s, nowhere(kube.BlackHole(t)))
			ns, pc := connect(t, c, s, targetUser(t))
			objs := make([]build.Object, 0, dead)
			for i := range dead {
				o := s.Object(dns, fmt.Sprintf("%s-dead-%d", tns, i), dpc,
					build.ConfigMap(tns, fmt.Sprintf("dead-%d", i)))
				kube.Create(t, c, o)
				objs = append(objs, o)
			}
			began := time.Now()
			for i := range living {
				kube.Create(t, c, s.Object(ns, fmt.Sprintf("%s-%d", tns, i), pc,
					build.ConfigMap(tns, fmt.Sprintf("living-%d", i))))
			}
			for i := range living {
				awaitReady(t, c, s.Object(ns, fmt.Sprintf("%s-%d", tns, i), pc, nil))
			}
			took := time.Since(began)
			for _, o := range objs {
				awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
				kube.Patch(t, c, o, `{"metadata":{"finalizers":null}}`)
				if err := client.IgnoreNotFound(c.Delete(t.Context(), o)); err != nil {
					t.Fatal(err)
				}
			}
			return took
		})
	})
}

// TestOrphanWithoutCredentials shows that a deleted Object with unreachableTarget: Orphan goes soon although its
// watches go on, when the target does not accept its credentials any more.
func TestOrphanWithoutCredentials(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	tns := target.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: build.Meta(tns, "robot")}
	kube.Create(t, tc, account, administrators(tns,
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: tns, Name: "robot"}))
	cfg := tokenOf(t, tc, account)
	s := build.Namespaced()
	ns, pc := connect(t, c, s, cfg)
	o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue"))
	o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan
	createReady(t, c, o)

	kube.Delete(t, tc, account)
	awaitDenied(t, cfg, tns, apierrors.IsUnauthorized)
	kube.Remove(t, c, o)
	awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, map[string]string{"color": "blue"})
}

// expiredServer returns the configuration of a server whose certificate has expired, and how often it was shown.
func expiredServer(t *testing.T) (cfg *rest.Config, shown *atomic.Int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(1, 0), NotAfter: time.Unix(1_700_000_000, 0), IsCA: true,
		BasicConstraintsValid: true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // It tells of each client that refuses the certificate.
	shown = &atomic.Int64{}
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			shown.Add(1)
			return nil, nil //nolint:nilnil // The standing one is for all clients.
		},
	}
	s.StartTLS()
	t.Cleanup(func() { kube.EndServer(s) })
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, shown
}

// TestExpiredCertificateIsToldOnce shows that an Object whose target has an expired certificate says so by one write of
// its status and one event, although each probe of the target fails with another text, which tells the current time.
func TestExpiredCertificateIsToldOnce(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		cfg, shown := expiredServer(t)
		ns, pc := connect(t, c, s, cfg)
		o := s.Object(ns, target.Namespace(t), pc, build.ConfigMap("any", "settings"))
		kube.Create(t, c, o)
		message := awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable), "certificate has expired")
		before := shown.Load()
		kube.Eventually(t, "further probes", func() (bool, string) {
			n := shown.Load() - before
			return n > 3, strconv.FormatInt(n, 10)
		})
		staysUnwritten(t, c, o)
		if got := o.GetCondition(failed("").Type).Message; got != message {
			t.Errorf("message: want %q, got %q", message, got)
		}
		if got := events(t, c, o, "certificate has expired"); len(got) != 1 {
			t.Errorf("want one event, got %q", got)
		}
		abandon(t, c, o)
	})
}

// TestSickTargetsDelayNoOther shows that an Object gets ready beside hundreds whose targets answer everything but the
// requests about single resources: TestShares of package fairqueue shows how many workers these get. They say what is
// wrong, and are kept once their targets answer.
func TestSickTargetsDelayNoOther(t *testing.T) {
	const targets, each = 6, 60
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		tns, answers := target.Namespace(t), make(chan struct{})
		var all []build.Object
		for i := range targets {
			ns, pc := connect(t, c, s, sick(t, answers))
			for n := range each {
				name := fmt.Sprintf("%s-%d-%d", tns, i, n)
				all = append(all, s.Object(ns, name, pc, build.ConfigMap(tns, name, "color", "blue")))
				kube.Create(t, c, all[len(all)-1])
			}
		}
		awaitNeighbour(t, c, s)
		awaitCondition(t, c, all[len(all)-1], failed(commonv1.ReasonTargetUnreachable))
		close(answers)
		for _, o := range all {
			awaitReady(t, c, o)
		}
	})
}

// sick returns a target that answers no request about a single ConfigMap until told to.
func sick(t *testing.T, answers <-chan struct{}) *rest.Config {
	t.Helper()
	return kube.Front(t, targetUser(t), func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/configmaps/") {
				select {
				case <-answers:
				case <-r.Context().Done():
					return
				}
			}
			server.ServeHTTP(w, r)
		})
	})
}
