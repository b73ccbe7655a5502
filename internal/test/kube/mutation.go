package kube

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Mutate has a webhook change resources that are written in a namespace, until the function that it returns is called.
// The probe is one that change changes.
func Mutate(tb testing.TB, c client.Client, namespace, resource string, probe client.Object,
	change func(*unstructured.Unstructured),
) (end func()) {
	tb.Helper()
	server := httptest.NewTLSServer(&admission.Webhook{Handler: admission.HandlerFunc(
		func(_ context.Context, r admission.Request) admission.Response {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON(r.Object.Raw); err != nil {
				return admission.Errored(http.StatusInternalServerError, err)
			}
			change(o)
			changed, err := o.MarshalJSON()
			if err != nil {
				return admission.Errored(http.StatusInternalServerError, err)
			}
			return admission.PatchResponseFromRaw(r.Object.Raw, changed)
		})})
	tb.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	webhook := &unstructured.Unstructured{}
	if err := webhook.UnmarshalJSON([]byte(`{"apiVersion":"admissionregistration.k8s.io/v1",
		"kind":"MutatingWebhookConfiguration","metadata":{"name":"` + namespace + resource + `"},"webhooks":[{
			"name":"change.example.org","admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail",
			"clientConfig":{"url":"` + server.URL + `","caBundle":"` + base64.StdEncoding.EncodeToString(ca) + `"},
			"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"` + namespace + `"}},
			"rules":[{"apiGroups":["","kubernetes.m.crossplane.io"],"apiVersions":["*"],
				"operations":["CREATE","UPDATE"],"resources":["` + resource + `"]}]}]}`)); err != nil {
		tb.Fatal(err)
	}
	Create(tb, c, webhook)
	await := func(changes bool) {
		tb.Helper()
		Eventually(tb, "the webhook", func() (bool, string) {
			o := probe.DeepCopyObject().(client.Object)
			if err := c.Create(tb.Context(), o, client.DryRunAll); err != nil {
				return false, err.Error()
			}
			got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return false, err.Error()
			}
			changed := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(got)}
			change(changed)
			return reflect.DeepEqual(got, changed.Object) == changes, fmt.Sprint(got)
		})
	}
	await(true)
	return func() {
		tb.Helper()
		Delete(tb, c, webhook)
		await(false)
	}
}
