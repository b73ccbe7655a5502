package apply

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	validation "k8s.io/apimachinery/pkg/util/validation/field"
)

func TestClean(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", validation.ErrorList{
		validation.Invalid(validation.NewPath("data").Key("b"), "hunter2", "wrong"), validation.Invalid(validation.NewPath("data").Key("a"), "hunter2", "wrong"),
	})
	denied := apierrors.NewForbidden(secrets, "s", errors.New(`User "u" cannot patch resource "secrets" in API group "" in the namespace "n"`))
	webhook := apierrors.NewForbidden(secrets, "s", errors.New(`admission webhook "w" denied the request: hunter2 is weak`))
	typed := apierrors.NewInternalError(errors.New("x"))
	typed.ErrStatus.Message = `failed to create typed patch object (n/s; /v1, Kind=Secret): .data.a: expected string, got &value.valueUnstructured{Value:hunter2}`
	for name, tc := range map[string]struct {
		reason string
		kind   string
		err    error
		want   string
		is     func(error) bool
	}{
		"Invalid": {
			reason: "Of a Secret that is invalid the fields are named.", kind: "Secret", err: invalid,
			want: "the server answers with reason Invalid for the Secret: data[a], data[b]", is: apierrors.IsInvalid,
		},
		"Denied": {reason: "What is forbidden by rights is said in full.", kind: "Secret", err: denied, want: denied.Error(), is: apierrors.IsForbidden},
		"Webhook": {
			reason: "What a webhook says is not repeated.", kind: "Secret", err: webhook,
			want: "the server answers with reason Forbidden for the Secret", is: apierrors.IsForbidden,
		},
		"Schema": {
			reason: "Of a value of the wrong type the field is named.", kind: "Secret", err: typed,
			want: "failed to create typed patch object (n/s; /v1, Kind=Secret): .data.a", is: apierrors.IsInternalError,
		},
		"Namespace": {
			reason: "A missing namespace is named.", kind: "Secret", err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"),
			want: `namespaces "n" not found`, is: apierrors.IsNotFound,
		},
		"OtherKind": {reason: "Other kinds are no secrets.", kind: "ConfigMap", err: invalid, want: invalid.Error(), is: apierrors.IsInvalid},
		"Pointer": {
			reason: "Addresses, which differ in each answer, are left out.", kind: "ConfigMap", err: apierrors.NewBadRequest("got (*string)(0xc000123456)"),
			want: "got (*string)(pointer)", is: apierrors.IsBadRequest,
		},
		"NoAnswer": {
			reason: "What is no answer of a server stays as it is.", kind: "Secret", err: http.ErrHandlerTimeout, want: http.ErrHandlerTimeout.Error(),
			is: func(err error) bool { return errors.Is(err, http.ErrHandlerTimeout) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(tc.kind))
			got := clean(tc.err, u)
			if diff := cmp.Diff(tc.want, got.Error()); diff != "" {
				t.Errorf("%s\nclean: -want, +got:\n%s", tc.reason, diff)
			}
			if !tc.is(got) {
				t.Errorf("%s\nkind of error: want it kept, got %#v", tc.reason, got)
			}
			var answer apierrors.APIStatus
			if tc.kind == "Secret" && errors.As(got, &answer) && strings.Contains(all(answer.Status()), "hunter2") {
				t.Errorf("%s\ndetails: want no value, got %s", tc.reason, all(answer.Status()))
			}
		})
	}
	if err := clean(nil, &unstructured.Unstructured{}); err != nil {
		t.Errorf("clean of no error: %v", err)
	}
	if !strings.Contains(invalid.ErrStatus.Details.Causes[0].Message, "hunter2") {
		t.Error("the answer belongs to who gave it: want it unchanged")
	}
}

// all returns all texts of an answer.
func all(s metav1.Status) string {
	texts := []string{s.Message}
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			texts = append(texts, c.Message)
		}
	}
	return strings.Join(texts, " ")
}
