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
	data := validation.NewPath("data")
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", validation.ErrorList{
		validation.Invalid(data.Key("b"), "hunter2", "wrong"), validation.Invalid(data.Key("a").Key("c"), "hunter2", "wrong"),
		validation.Invalid(validation.NewPath("hunter2"), "x", "wrong"),
	})
	denied := apierrors.NewForbidden(secrets, "s",
		errors.New(`User "u" cannot patch resource "secrets" in API group "" in the namespace "n"`))
	quota := apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota: q, requested: pods=1"))
	webhook := apierrors.NewForbidden(secrets, "s",
		errors.New(`admission webhook "w" denied the request: hunter2 is weak`))
	foundNothing := apierrors.NewNotFound(secrets, "s")
	foundNothing.ErrStatus.Message = `admission webhook "w" denied the request: hunter2 is unknown`
	typed := apierrors.NewInternalError(errors.New("x"))
	typed.ErrStatus.Message = `failed to create typed patch object (n/s; /v1, Kind=ConfigMap): .data.a: ` +
		`expected string, got &value.valueUnstructured{Value:hunter2}`
	for name, tc := range map[string]struct {
		reason string
		kind   string
		err    error
		want   string
		is     func(error) bool
	}{
		"Invalid": {
			"Of a Secret that is invalid the fields are named as far as they are in the manifest.", "Secret", invalid,
			leftOut("Invalid") + ": data.a, data.b", apierrors.IsInvalid,
		},
		"Denied": {
			"That a right is missing is told.", "Secret", denied, leftOut("Forbidden (the user lacks the permission)"),
			apierrors.IsForbidden,
		},
		"Quota": {
			"So is that a quota has no room.", "Secret", quota, leftOut("Forbidden (exceeded quota)"), IsQuotaExceeded,
		},
		"Webhook": {"What a webhook says is not repeated.", "Secret", webhook, leftOut("Forbidden"), apierrors.IsForbidden},
		"WebhookMissing": {
			"Nor what one says is not found.", "Secret", foundNothing, leftOut("NotFound"), apierrors.IsNotFound,
		},
		"Schema": {
			"Of a value from a Secret that is of the wrong type the field is named.", "ConfigMap", typed,
			leftOut("BadRequest") + ": data.a", apierrors.IsBadRequest,
		},
		"Namespace": {
			"A missing namespace is told.", "Secret", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"),
			leftOut("NotFound (the namespace does not exist)"), apierrors.IsNotFound,
		},
		"OtherKind": {"Other kinds are no secrets.", "Service", invalid, invalid.Error(), apierrors.IsInvalid},
		"Pointer": {
			"Addresses, which differ in each answer, are left out.", "Service",
			apierrors.NewBadRequest("got (*string)(0xc000123456)"), "got (*string)(pointer)", apierrors.IsBadRequest,
		},
		"NoKind": {
			"What is no resource is not repeated.", "Service", runtime.NewMissingKindErr(`{"data":"hunter2"}`),
			"the response of the server is not a resource", func(err error) bool { return err != nil },
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
			c := Client{}
			if tc.kind == "ConfigMap" {
				c.SecretFields = []string{"data.a"}
			}
			got := c.clean(u, tc.err)
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
	if err := (Client{}).clean(&unstructured.Unstructured{}, nil); err != nil {
		t.Errorf("clean of no error: %v", err)
	}
	if !strings.Contains(invalid.ErrStatus.Details.Causes[0].Message, "hunter2") {
		t.Error("the answer belongs to who gave it: want it unchanged")
	}
}

// TestUnreadableIsNamed shows that a refusal of a Secret names the values that no server can read, whatever it says.
func TestUnreadableIsNamed(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"c": int64(31337)},
		"data": map[string]any{"a": "hunter2", "b": "aHVudGVy", "tls.crt": "hunter2!", "n": nil},
	}}
	answer := &apierrors.StatusError{ErrStatus: metav1.Status{Message: "illegal base64 data at input byte 4: hunter2"}}
	got := Client{}.clean(u, answer)
	want := leftOut("BadRequest") + ": data.a is not base64, data[tls.crt] is not base64, stringData.c is not a string"
	if diff := cmp.Diff(want, got.Error()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestIsImmutable shows which refusals say that a field never changes, also of a Secret.
func TestIsImmutable(t *testing.T) {
	invalid := func(field, name, said string) *apierrors.StatusError {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, name, validation.ErrorList{
			validation.Invalid(validation.NewPath(field), "immutable", said),
		})
	}
	frozen := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a",
		errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: it is immutable"))
	frozen.ErrStatus.Reason = metav1.StatusReasonInvalid
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Immutable": {"Most say so.", invalid("data", "a", "field is immutable"), true},
		"RoleRef":   {"So does a binding.", invalid("data", "a", "cannot change roleRef"), true},
		"Set": {
			"So has a StatefulSet.", invalid("data", "a", "updates to statefulset spec for fields other than 'x' are forbidden"),
			true,
		},
		"Address": {"So has a Service.", invalid("data", "a", "may not change once set"), true},
		"Unknown": {"So does a word more.", invalid("data", "a", "zone is immutable"), true},
		"Name":    {"Names and values count for nothing.", invalid("data", "immutable", "wrong"), false},
		"Frozen":  {"A policy is not got around.", frozen, false},
		"Other":   {"Nor is another reason.", apierrors.NewBadRequest("field is immutable"), false},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "hunter2"},
			}}
			for _, err := range []error{tc.err, Client{}.clean(u, tc.err)} {
				if got := IsImmutable(errors.Wrap(err, "cannot apply")); got != tc.want {
					t.Errorf("%s\nIsImmutable(%v): want %t, got %t", tc.reason, err, tc.want, got)
				}
			}
		})
	}
}

// leftOut is what is said of an answer that may repeat a value.
func leftOut(reason string) string {
	return "the server responds with reason " + reason +
		"; its message is omitted, because it may repeat values of Secrets"
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
		got := HideSecret(answer, content).Error()
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

func TestPrepare(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		manifest string
		want     string
	}{
		"StringData": {
			reason: "stringData of a Secret becomes data, and wins over it; what is no text stays for the server to refuse.",
			manifest: `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA==","b":"eQ=="},` +
				`"stringData":{"a":"new","c":1,"d":null}}`,
			want: `{"apiVersion":"v1","kind":"Secret","data":{"a":"bmV3","b":"eQ==","d":""},"stringData":{"c":1}}`,
		},
		"EmptyStringData": {
			reason:   "An empty map is none.",
			manifest: `{"apiVersion":"v1","kind":"Secret","stringData":{}}`,
			want:     `{"apiVersion":"v1","kind":"Secret"}`,
		},
		"StringDataOfOthers": {
			reason:   "A field of that name in another kind is what it is.",
			manifest: `{"apiVersion":"example.org/v1","kind":"Secret","stringData":{"a":"x"}}`,
			want:     `{"apiVersion":"example.org/v1","kind":"Secret","stringData":{"a":"x"}}`,
		},
		"Copied": {
			reason: "Of a manifest that was copied from a live resource is left out what only a server sets.",
			manifest: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"u","resourceVersion":"1","generation":2,` +
				`"selfLink":"/p","creationTimestamp":"2020-01-01T00:00:00Z","managedFields":[{"manager":"m"}],` +
				`"ownerReferences":[]},"spec":{},"status":{"phase":"Running"}}`,
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","ownerReferences":[]},"spec":{}}`,
		},
		"Printed": {
			reason:   "What kubectl create --dry-run prints is no such copy.",
			manifest: `{"apiVersion":"v1","kind":"X","metadata":{"creationTimestamp":null},"status":{"a":1}}`,
			want:     `{"apiVersion":"v1","kind":"X","metadata":{},"status":{"a":1}}`,
		},
		"AggregatedRules": {
			reason: "The rules that a server collects from other ClusterRoles are its own.",
			manifest: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","rules":[],` +
				`"aggregationRule":{"clusterRoleSelectors":[]}}`,
			want: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",` +
				`"aggregationRule":{"clusterRoleSelectors":[]}}`,
		},
		"OwnRules": {
			reason:   "Without aggregation they are those of the manifest, also if there are none.",
			manifest: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","rules":[],"aggregationRule":null}`,
			want:     `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","rules":[],"aggregationRule":null}`,
		},
		"NoMetadata": {reason: "None is needed.", manifest: `{"a":1}`, want: `{"a":1}`},
		"WrongMetadata": {
			reason: "What is no metadata is for others to refuse.", manifest: `{"metadata":"x"}`, want: `{"metadata":"x"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := object(t, tc.manifest)
			Prepare(u)
			if diff := cmp.Diff(object(t, tc.want).Object, u.Object); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
