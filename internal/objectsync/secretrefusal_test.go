package objectsync

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// hunter2 is the value of a Secret.
const hunter2 = "hunter2-of-a-consumer"

// A refusingWriter answers all writes with one error.
type refusingWriter struct {
	Writer

	answer error
}

func (w refusingWriter) Create(context.Context, schema.GroupVersionResource, *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	return nil, w.answer
}

func (w refusingWriter) Patch(context.Context, Ref, []byte, ...string) (*unstructured.Unstructured, error) {
	return nil, w.answer
}

func (w refusingWriter) Delete(context.Context, Ref, types.UID, metav1.DeletionPropagation) error {
	return w.answer
}

// TestRefusalsRepeatNoSecret shows that errors about writes of Secrets, which reach the status of a PublishedResource,
// hold no value, and that it is still known why a server refuses.
func TestRefusalsRepeatNoSecret(t *testing.T) {
	value := base64.StdEncoding.EncodeToString([]byte(hunter2))
	secrets := schema.GroupResource{Resource: "secrets"}
	webhook := apierrors.NewForbidden(secrets, "s", errors.New(`admission webhook "w" denied the request: `+hunter2))
	broken := apierrors.NewInternalError(errors.New(`failed calling webhook "w": cannot parse "` + value + `"`))
	field := apierrors.NewBadRequest("bad")
	field.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: hunter2, Message: hunter2}}}
	rights := apierrors.NewForbidden(secrets, "",
		errors.New(`User "u" cannot create resource "secrets" in API group "" in the namespace "n": access denied`))
	rights.ErrStatus.Message = strings.ReplaceAll(rights.ErrStatus.Message, `secrets "" is`, "secrets is")
	quota := apierrors.NewForbidden(secrets, "s",
		errors.New(`exceeded quota: q, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2`))
	for name, tc := range map[string]struct {
		reason  string
		answer  error
		says    string
		refused bool
		cause   RefusalCause // RefusedByPolicy by default
	}{
		"Webhook": {
			reason: "The words of a webhook are left out.", answer: webhook, says: "reason Forbidden", refused: true,
		},
		"Field": {
			reason: "A field that was not sent is not named.", answer: field, says: "reason BadRequest", refused: true,
		},
		"Broken": {reason: "So are those of a webhook that fails.", answer: broken, says: "reason InternalError"},
		"Rights": {
			reason: "That a right is missing is told.", answer: rights, says: "the user lacks the permission",
			refused: true, cause: RefusedByRights,
		},
		"Quota": {
			reason: "So is a quota.", answer: quota, says: "exceeded quota", refused: true, cause: RefusedByQuota,
		},
	} {
		t.Run(name, func(t *testing.T) {
			side := Side{Writer: refusingWriter{answer: tc.answer}}
			u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"password": value}}}
			o := Ref{Version: "v1", Resource: "secrets", Kind: "Secret", Namespace: "n", Name: "s"}
			_, created := side.create(t.Context(), Secrets, u)
			_, patched := side.patch(t.Context(), o, u, u.Object)
			for verb, err := range map[string]error{
				"create": created, "patch": patched, "delete": side.delete(t.Context(), o, "uid", nil),
			} {
				if text := errors.Wrap(err, "cannot sync").Error(); strings.Contains(text, hunter2) ||
					strings.Contains(text, value) || !strings.Contains(text, tc.says) {
					t.Errorf("%s\n%s: want %q and no value, got %q", tc.reason, verb, tc.says, text)
				}
				r := RefusalOf(errors.Wrap(err, "cannot sync"))
				if (r != nil) != tc.refused || r != nil && r.Cause != tc.cause {
					t.Errorf("%s\n%s: want refused %t with cause %d, got %v", tc.reason, verb, tc.refused, tc.cause, r)
				}
				if apierrors.ReasonForError(err) != apierrors.ReasonForError(tc.answer) {
					t.Errorf("%s\n%s: the reason has changed to %s", tc.reason, verb, apierrors.ReasonForError(err))
				}
			}
		})
	}
}

// TestOfAnother shows that a patch for an object that another one has replaced is a conflict, and no refusal.
func TestOfAnother(t *testing.T) {
	uid := field.Invalid(field.NewPath("metadata", "uid"), "b", "field is immutable")
	answer := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{uid})
	side := Side{Writer: refusingWriter{answer: answer}}
	_, err := side.patch(t.Context(), Ref{Resource: "secrets", Name: "s"}, nil, map[string]any{})
	if !apierrors.IsConflict(err) || RefusalOf(err) != nil {
		t.Errorf("want a conflict, got %v", err)
	}
}
