package apply

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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
			reason: "Of a Secret that is invalid the fields are named.", kind: "Secret", err: invalid,
			want: leftOut("Invalid") + ": data[a], data[b]", is: apierrors.IsInvalid,
		},
		"Denied": {
			reason: "What is forbidden by rights is said in full.",
			kind:   "Secret",
			err:    denied,
			want:   denied.Error(),
			is:     apierrors.IsForbidden,
		},
		"Webhook": {
			reason: "What a webhook says is not repeated.", kind: "Secret", err: webhook,
			want: leftOut("Forbidden"), is: apierrors.IsForbidden,
		},
		"Schema": {
			reason: "Of a value of the wrong type the field is named.", kind: "Secret", err: typed,
			want: "failed to create typed patch object (n/s; /v1, Kind=Secret): .data.a", is: apierrors.IsInternalError,
		},
		"Namespace": {
			reason: "A missing namespace is named.", kind: "Secret",
			err:  apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"),
			want: `namespaces "n" not found`, is: apierrors.IsNotFound,
		},
		"OtherKind": {
			reason: "Other kinds are no secrets.",
			kind:   "ConfigMap",
			err:    invalid,
			want:   invalid.Error(),
			is:     apierrors.IsInvalid,
		},
		"Pointer": {
			reason: "Addresses, which differ in each answer, are left out.", kind: "ConfigMap",
			err:  apierrors.NewBadRequest("got (*string)(0xc000123456)"),
			want: "got (*string)(pointer)", is: apierrors.IsBadRequest,
		},
		"WebhookMissing": {
			reason: "Nor what one says is not found.", kind: "Secret", err: foundNothing,
			want: leftOut("NotFound"), is: apierrors.IsNotFound,
		},
		"NoKind": {
			reason: "What is no resource is not repeated.", kind: "ConfigMap",
			err:  runtime.NewMissingKindErr(`{"data":"hunter2"}`),
			want: "the answer of the server is no resource", is: func(err error) bool { return err != nil },
		},
		"NoAnswer": {
			reason: "What is no answer of a server stays as it is.", kind: "Secret", err: http.ErrHandlerTimeout,
			want: http.ErrHandlerTimeout.Error(),
			is:   func(err error) bool { return errors.Is(err, http.ErrHandlerTimeout) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(tc.kind))
			got := privateOf(u).clean(tc.err)
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
	if err := (Private{}).clean(nil); err != nil {
		t.Errorf("clean of no error: %v", err)
	}
	if !strings.Contains(invalid.ErrStatus.Details.Causes[0].Message, "hunter2") {
		t.Error("the answer belongs to who gave it: want it unchanged")
	}
}

// leftOut is what is said of an answer that may repeat a value.
func leftOut(reason string) string {
	return "the server answers with reason " + reason +
		", and its message is left out as it may repeat values of Secrets or references"
}

// password is a value that came from elsewhere.
const password = `hunter2 <of> "production"`

// echoes are what servers and webhooks say of the password, all in other encodings.
func echoes() map[string]string {
	encoded, _ := json.Marshal(password) //nolint:errchkjson // A string can always be encoded.
	return map[string]string{
		"Plain":     password,
		"Quoted":    strconv.Quote(password),
		"Twice":     strconv.Quote(strconv.Quote(password)),
		"JSON":      string(encoded),
		"Go":        fmt.Sprintf("%#v", map[string]any{"x": password}),
		"Base64":    base64.StdEncoding.EncodeToString([]byte(password)),
		"Base64URL": base64.URLEncoding.EncodeToString([]byte(password)),
		"Hex":       hex.EncodeToString([]byte(password)),
		"URL":       url.QueryEscape(password),
		"Beginning": password[:12] + "...",
	}
}

// TestMask shows that a value which came from elsewhere is masked in each form in which servers repeat it, and that
// what they say besides stays.
func TestMask(t *testing.T) {
	for name, echo := range echoes() {
		t.Run(name, func(t *testing.T) {
			for source, values := range map[string][]any{
				"Plain": {password}, "Nested": {map[string]any{"x": []any{int64(12345), password}}},
				"Encoded": {base64.StdEncoding.EncodeToString([]byte(password))},
			} {
				err := Private{Values: values}.clean(apierrors.NewBadRequest("value " + echo + " is weak"))
				got := err.Error()
				if !strings.HasPrefix(got, "value ") || !strings.HasSuffix(got, " is weak") ||
					!strings.Contains(got, masked) {
					t.Errorf("%s: want the value masked and the rest kept, got: %s", source, got)
				}
				for _, part := range []string{"hunter2", "aHVudGVy", "68756e746572"} {
					if strings.Contains(got, part) {
						t.Errorf("%s: want no part of the value, got: %s", source, got)
					}
				}
			}
		})
	}
}

// TestPrivate shows what is left of an answer to a manifest with values from elsewhere.
func TestPrivate(t *testing.T) {
	many := make([]any, 0, maskMost+1)
	for i := range maskMost + 1 {
		many = append(many, fmt.Sprintf("value-%d", i))
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "c", validation.ErrorList{
		validation.Invalid(validation.NewPath("metadata", "labels"), "x",
			"wrong"), validation.Invalid(validation.NewPath("data").Key("hunter2"), "x", "wrong"),
	})
	for name, tc := range map[string]struct {
		reason  string
		private Private
		err     error
		want    string
	}{
		"Nothing": {
			reason:  "Without such values all is said.",
			private: Private{},
			err:     apierrors.NewBadRequest("x"),
			want:    "x",
		},
		"Secret": {
			reason:  "Of a value of a Secret only reason and fields are.",
			private: Private{Secret: true},
			err:     apierrors.NewBadRequest("drowssap"),
			want:    leftOut("BadRequest"),
		},
		"Keys": {
			reason: "Keys in such a field are not named.", private: Private{Secret: true, Fields: []string{"data"}},
			err: invalid, want: leftOut("Invalid") + ": data, metadata.labels",
		},
		"Short": {
			reason:  "A short value cannot be masked.",
			private: Private{Values: []any{int64(80)}},
			err:     apierrors.NewBadRequest("port 8080"),
			want:    leftOut("BadRequest"),
		},
		"ShortElsewhere": {
			reason: "One that is not repeated changes nothing.", private: Private{Values: []any{int64(80)}},
			err: apierrors.NewBadRequest("name is wrong"), want: "name is wrong",
		},
		"Many": {
			reason:  "Too many cannot be looked for.",
			private: Private{Values: many},
			err:     apierrors.NewBadRequest("name is wrong"),
			want:    leftOut("BadRequest"),
		},
		"Other": {
			reason: "Of other values the rest is said.", private: Private{Values: []any{"blue"}},
			err: apierrors.NewBadRequest(`color "blue" is wrong`), want: `color "***" is wrong`,
		},
		"Field": {
			reason:  "A field that a server invents is masked.",
			private: Private{Secret: true, Values: []any{"hunter2"}},
			err:     invalid,
			want:    leftOut("Invalid") + ": data[***], metadata.labels",
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

// FuzzMask shows that no answer repeats a value, whatever a server says and however it encodes it.
func FuzzMask(f *testing.F) {
	f.Add("password", "value ", " is weak", 0)
	f.Add("pass\"wörd\n", "a", "b", 3)
	f.Add("12", "1", "2", 1)
	f.Fuzz(func(t *testing.T, value, before, after string, form int) {
		if strings.Contains(value, "*") {
			return // It could be made of a mask.
		}
		all := forms(value)
		echo := all[max(form, 0)%len(all)]
		for _, p := range []Private{{Values: []any{value}}, {Secret: true, Values: []any{value}}} {
			got := p.clean(apierrors.NewBadRequest(before + echo + after)).Error()
			if len(echo) > 0 && !strings.Contains(leftOut("BadRequest")+masked, echo) && strings.Contains(got, echo) {
				t.Errorf("want %q not repeated, got %q", echo, got)
			}
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
