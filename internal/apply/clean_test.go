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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	validation "k8s.io/apimachinery/pkg/util/validation/field"
)

func TestClean(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", validation.ErrorList{
		validation.Invalid(validation.NewPath("data").Key("b"), "hunter2",
			"wrong"), validation.Invalid(validation.NewPath("data").Key("a"), "hunter2", "wrong"),
	})
	denied := apierrors.NewForbidden(secrets, "s",
		errors.New(`User "u" cannot patch resource "secrets" in API group "" in the namespace "n"`))
	webhook := apierrors.NewForbidden(secrets, "s",
		errors.New(`admission webhook "w" denied the request: hunter2 is weak`))
	foundNothing := apierrors.NewNotFound(secrets, "s")
	foundNothing.ErrStatus.Message = `admission webhook "w" denied the request: hunter2 is unknown`
	typed := apierrors.NewInternalError(errors.New("x"))
	typed.ErrStatus.Message = `failed to create typed patch object (n/s; /v1, Kind=Secret): .data.a: expected string, ` +
		`got &value.valueUnstructured{Value:hunter2}`
	for name, tc := range map[string]struct {
		reason string
		kind   string
		err    error
		want   string
		is     func(error) bool
	}{
		"Invalid": {
			"Of a Secret that is invalid the fields are named.", "Secret", invalid, leftOut("Invalid") + ": data.a, data.b",
			apierrors.IsInvalid,
		},
		"Denied":  {"Missing rights are said in full.", "Secret", denied, denied.Error(), apierrors.IsForbidden},
		"Webhook": {"What a webhook says is not repeated.", "Secret", webhook, leftOut("Forbidden"), apierrors.IsForbidden},
		"Schema": {
			"Of a value of the wrong type the field is named.", "Secret", typed,
			"failed to create typed patch object (n/s; /v1, Kind=Secret): .data.a", apierrors.IsInternalError,
		},
		"Namespace": {
			"A missing namespace is named.", "Secret", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"),
			`namespaces "n" not found`, apierrors.IsNotFound,
		},
		"OtherKind": {"Other kinds are no secrets.", "ConfigMap", invalid, invalid.Error(), apierrors.IsInvalid},
		"Pointer": {
			"Addresses, which differ in each answer, are left out.", "ConfigMap",
			apierrors.NewBadRequest("got (*string)(0xc000123456)"), "got (*string)(pointer)", apierrors.IsBadRequest,
		},
		"WebhookMissing": {
			"Nor what one says is not found.", "Secret", foundNothing, leftOut("NotFound"), apierrors.IsNotFound,
		},
		"NoKind": {
			"What is no resource is not repeated.", "ConfigMap", runtime.NewMissingKindErr(`{"data":"hunter2"}`),
			"the answer of the server is no resource", func(err error) bool { return err != nil },
		},
		"NoAnswer": {
			"What is no answer of a server stays as it is.", "Secret", http.ErrHandlerTimeout,
			http.ErrHandlerTimeout.Error(), func(err error) bool { return errors.Is(err, http.ErrHandlerTimeout) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(tc.kind))
			u.Object["data"] = map[string]any{"a": "hunter22", "b": "hunter22"}
			got := Client{}.clean(u, tc.err)
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
	if err := (private{}).clean(nil); err != nil {
		t.Errorf("clean of no error: %v", err)
	}
	if !strings.Contains(invalid.ErrStatus.Details.Causes[0].Message, "hunter2") {
		t.Error("the answer belongs to who gave it: want it unchanged")
	}
}

// TestNotBase64IsNamed shows that a refusal of a Secret names the values that are not base64, whatever it says.
func TestNotBase64IsNamed(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "hunter2", "b": "aHVudGVy", "tls.crt": "hunter2!"},
	}}
	got := Client{}.clean(u, apierrors.NewBadRequest("illegal base64 data at input byte 4: hunter2")).Error()
	want := leftOut("BadRequest") + ": data.a is not base64, data[tls.crt] is not base64"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// leftOut is what is said of an answer that may repeat a value.
func leftOut(reason string) string {
	return "the server answers with reason " + reason + ", and its message is left out as it may repeat values of Secrets"
}

// TestPrivate shows what is left of an answer to a manifest with values from elsewhere.
func TestPrivate(t *testing.T) {
	content := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{}},
		"data":     map[string]any{"hunter2": "x", "plain": "y"},
		"spec":     map[string]any{"ports": []any{map[string]any{"port": "x"}}},
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "c", validation.ErrorList{
		validation.Invalid(validation.NewPath("metadata", "labels").Key("hunter3"), "x", "wrong"),
		validation.Invalid(validation.NewPath("data").Key("hunter2"), "x", "wrong"),
		validation.Invalid(validation.NewPath("spec", "ports").Index(0).Child("port"), "x", "wrong"),
		validation.Invalid(validation.NewPath("hunter4"), "x", "wrong"),
	})
	for name, tc := range map[string]struct {
		reason  string
		private private
		err     error
		want    string
	}{
		"Nothing": {
			reason: "Without a value of a Secret all is said.", private: private{content: content},
			err: apierrors.NewBadRequest("x"), want: "x",
		},
		"Secret": {
			reason: "Of a value of a Secret only reason and fields are.", private: private{secret: true},
			err: apierrors.NewBadRequest("drowssap"), want: leftOut("BadRequest"),
		},
		"Keys": {
			reason:  "Keys in a private field are not named, nor what a server invents.",
			private: private{secret: true, content: content, fields: []string{"data"}},
			err:     invalid,
			want:    leftOut("Invalid") + ": data, metadata.labels, spec.ports[0].port",
		},
		"KnownKeys": {
			reason:  "Keys of the manifest are named.",
			private: private{secret: true, content: content, fields: []string{"data.plain"}},
			err:     invalid,
			want:    leftOut("Invalid") + ": data.hunter2, metadata.labels, spec.ports[0].port",
		},
		"Unknown": {
			reason:  "If it is not known what was sent, no field is named.",
			private: private{secret: true},
			err:     invalid,
			want:    leftOut("Invalid"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.private.clean(tc.err)
			if diff := cmp.Diff(tc.want, got.Error()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzPrivate shows that no answer repeats a value of a Secret, whatever a server says and whatever field it names.
func FuzzPrivate(f *testing.F) {
	f.Add("password", "value ", " is weak")
	f.Add("pass\"wörd\n", "data[", "]")
	f.Add("12", "data.key.", "2")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		content := map[string]any{"data": map[string]any{"key": value}}
		answer := apierrors.NewBadRequest(before + value + after)
		answer.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: before + value + after}}}
		got := private{secret: true, content: content}.clean(answer).Error()
		if !strings.Contains(leftOut("BadRequest")+": data.key", value) && strings.Contains(got, value) {
			t.Errorf("want %q not repeated, got %q", value, got)
		}
	})
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
