package kube

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// labelHeld is the label of resources whose deletion is held up.
const labelHeld = "test/deletion"

// heldMost is how many seconds a deletion is held up at most, which is as long as an API server waits for a webhook.
const heldMost = 30

// A Hold makes a server wait between its look at the finalizers of a resource and the deletion.
type Hold struct {
	// Labels are those of the resources whose deletion is held up. Others of the kind are deleted as ever.
	Labels map[string]string

	until  func(types.NamespacedName) bool
	active atomic.Bool // the server asks
	begin  sync.Once
	begun  chan struct{} // closed when the server holds a deletion up
}

// HoldDeletion makes the server hold up the deletion of resources until a function says so, for the duration of the
// test.
func (s *Server) HoldDeletion(tb testing.TB, r schema.GroupResource, until func(types.NamespacedName) bool) *Hold {
	tb.Helper()
	h := &Hold{until: until, begun: make(chan struct{})}
	srv := httptest.NewTLSServer(h)
	tb.Cleanup(srv.Close)
	// Unique among the tests that run.
	h.Labels = map[string]string{labelHeld: strconv.Itoa(srv.Listener.Addr().(*net.TCPAddr).Port)}
	hook := webhook(srv, r)
	hook.ObjectSelector = &metav1.LabelSelector{MatchLabels: h.Labels}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		Webhooks: []admissionregistrationv1.ValidatingWebhook{hook},
	}
	config.GenerateName = "deletion-"
	c := s.Client(tb)
	if err := c.Create(tb.Context(), config); err != nil {
		tb.Fatalf("cannot register webhook: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		_ = c.Delete(ctx, config)
	})
	return h
}

// ServeHTTP answers the server when it may delete. A dry run it may at once.
func (h *Hold) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(req.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if d := review.Request.DryRun; d != nil && *d {
		h.active.Store(true)
	} else {
		h.begin.Do(func() { close(h.begun) })
		n := types.NamespacedName{Namespace: review.Request.Namespace, Name: review.Request.Name}
		for !h.until(n) && req.Context().Err() == nil {
			time.Sleep(pollMin)
		}
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(w).Encode(review)
}

// Delete begins to delete a resource, and returns when the server holds that up: it has seen the finalizers then. What
// it returns waits for the end. A server knows of a webhook a moment after it was registered, so it is asked first.
func (h *Hold) Delete(tb testing.TB, c client.Client, o client.Object) (wait func()) {
	tb.Helper()
	o, _ = o.DeepCopyObject().(client.Object) // The caller goes on to change it.
	Eventually(tb, "the webhook", func() (bool, string) {
		if err := c.Delete(tb.Context(), o, client.DryRunAll); err != nil {
			return false, err.Error()
		}
		return h.active.Load(), "not asked"
	})
	gone := make(chan error, 1)
	go func() { gone <- c.Delete(tb.Context(), o) }()
	select {
	case <-h.begun:
	case err := <-gone:
		tb.Fatalf("the deletion was not held up: %v", err)
	}
	return func() {
		tb.Helper()
		if err := <-gone; err != nil {
			tb.Fatalf("cannot delete: %v", err)
		}
	}
}

func webhook(srv *httptest.Server, r schema.GroupResource) admissionregistrationv1.ValidatingWebhook {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    "deletion.test.example.org",
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &srv.URL, CABundle: ca},
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		FailurePolicy:           new(admissionregistrationv1.Fail),
		TimeoutSeconds:          new(int32(heldMost)),
		AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{r.Group}, APIVersions: []string{"*"}, Resources: []string{r.Resource},
			},
		}},
	}
}
