package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

func TestServersAreSeparate(t *testing.T) {
	ns := local.Namespace(t)
	if !strings.HasPrefix(ns, "testserversareseparate-") {
		t.Errorf("Namespace: want a name like that of the test, got %q", ns)
	}
	err := target.Client(t).Get(t.Context(), types.NamespacedName{Name: ns}, &corev1.Namespace{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a namespace of one server must not be in the other: %v", err)
	}
}

func TestNamespaceName(t *testing.T) {
	t.Run("Übergröße/with all sorts of_characters, and longer than any name of an object may be", func(t *testing.T) {
		if a, b := local.Namespace(t), local.Namespace(t); a == b {
			t.Errorf("Namespace: want another one with each call, got %q twice", a)
		}
	})
}

func TestAudit(t *testing.T) {
	ns := target.Namespace(t)
	cfg := target.User(t, "audited", "system:masters")
	other, err := client.New(target.User(t, "other", "system:masters"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	audit := target.Audit(t)

	before := audit.Mark()
	cm := newConfigMap(ns, "web")
	if err := c.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	mark := audit.Mark()
	w, err := c.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range 3 {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
			t.Fatal(err)
		}
		if err := other.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two"} {
		if err := c.Create(t.Context(), newConfigMap(ns, name)); err != nil {
			t.Fatal(err)
		}
	}

	got := audit.Since(mark).By("audited")
	want := map[string]int{"get configmaps": 3, "create configmaps": 2}
	if diff := cmp.Diff(want, got.Count()); diff != "" {
		t.Errorf("Since(mark): -want, +got:\n%s\n%s", diff, got)
	}
	if s := got.String(); !strings.Contains(s, "     3 get configmaps\n") || !strings.Contains(s, " audited: create configmaps "+ns+"/two 201\n") {
		t.Errorf("String: want counts and requests, got:\n%s", s)
	}
	if got := audit.Watches(mark).By("audited").Count(); !cmp.Equal(got, map[string]int{"watch configmaps": 1}) {
		t.Errorf("Watches: want one, got %v", got)
	}
	if got := audit.Since(before).By("audited").Count()["create configmaps"]; got != 3 {
		t.Errorf("Since(before): want 3 creates, got %d", got)
	}
	if got := audit.Since(audit.Mark()).By("audited").Count(); got != nil {
		t.Errorf("Since now: want nil, got %v", got)
	}
}

func TestInstallCRDs(t *testing.T) {
	target.InstallCRDs(t, "testdata")
	target.InstallCRDs(t, "testdata")
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := target.Client(t).Get(t.Context(), types.NamespacedName{Name: "widgets.example.org"}, crd); err != nil {
		t.Error(err)
	}
}

func TestStopRestart(t *testing.T) {
	ns := target.Namespace(t)
	c := target.Client(t)
	if err := c.Create(t.Context(), newConfigMap(ns, "kept")); err != nil {
		t.Fatal(err)
	}
	get := func() error {
		return c.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "kept"}, &corev1.ConfigMap{})
	}
	t.Run("Down", func(t *testing.T) {
		target.Stop(t)
		if err := get(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Get while the server is down: want connection refused, got %v", err)
		}
		// The end of this test brings the server back.
	})
	if err := get(); err != nil {
		t.Errorf("Get after the end of the test that stopped the server: %v", err)
	}
	target.Stop(t)
	target.Restart(t)
	if err := get(); err != nil {
		t.Errorf("Get after Restart: %v", err)
	}
}

func TestKubeconfig(t *testing.T) {
	cfg, err := clientcmd.RESTConfigFromKubeConfig(kube.Kubeconfig(t, target.User(t, "someone", "system:masters")))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), types.NamespacedName{Name: "default"}, &corev1.Namespace{}); err != nil {
		t.Error(err)
	}
}

func TestBlackHole(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := ask(ctx, t, kube.BlackHole(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want %v, got %v", context.DeadlineExceeded, err)
	}
	conn, err := net.Dial("tcp", kube.BlackHole(t))
	if err != nil {
		t.Fatalf("cannot connect: %v", err)
	}
	_ = conn.Close()
}

func TestRefused(t *testing.T) {
	if err := ask(t.Context(), t, kube.Refused(t)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("want connection refused, got %v", err)
	}
}

func TestEventually(t *testing.T) {
	calls := 0
	kube.Eventually(t, time.Minute, "three calls", func() (bool, string) {
		calls++
		return calls == 3, ""
	})
	if calls != 3 {
		t.Errorf("want check called until it is ok, 3 times, got %d", calls)
	}

	failing := &recorder{TB: t}
	failing.run(func() {
		kube.Eventually(failing, time.Millisecond, "the end of time", func() (bool, string) { return false, "still going" })
	})
	want := "gave up waiting for the end of time after 1ms, last state: still going"
	if diff := cmp.Diff(want, failing.fatal); diff != "" {
		t.Errorf("failure: -want, +got:\n%s", diff)
	}
}

func ask(ctx context.Context, t *testing.T, address string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

func newConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// A recorder keeps the message of a failure in place of failing the test.
type recorder struct {
	testing.TB
	fatal string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run returns when f returns or fails.
func (r *recorder) run(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
}
