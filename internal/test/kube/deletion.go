package kube

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// labelHeld is the label of resources whose deletion is held up.
const labelHeld = "test/deletion"

// heldMost is how many seconds a deletion is held up at most, which is as long as an API server waits for a webhook.
const heldMost = 30

// HoldDeletion makes the server, between its look at the finalizers of a resource with a label and the deletion, wait until a function
// says so, for the duration of the test. It returns the label. Other resources of that kind are deleted as ever.
func (s *Server) HoldDeletion(tb testing.TB, r schema.GroupResource, until func(types.NamespacedName) bool) map[string]string {
	tb.Helper()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		review := &admissionv1.AdmissionReview{}
		if err := json.NewDecoder(req.Body).Decode(review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n := types.NamespacedName{Namespace: review.Request.Namespace, Name: review.Request.Name}
		for !until(n) && req.Context().Err() == nil {
			time.Sleep(pollInterval)
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(review)
	}))
	tb.Cleanup(srv.Close)
	label := map[string]string{labelHeld: strconv.Itoa(srv.Listener.Addr().(*net.TCPAddr).Port)} // Unique among the tests that run.
	hook := webhook(srv, r)
	hook.ObjectSelector = &metav1.LabelSelector{MatchLabels: label}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{hook}}
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
	return label
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
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{r.Group}, APIVersions: []string{"*"}, Resources: []string{r.Resource}},
		}},
	}
}
