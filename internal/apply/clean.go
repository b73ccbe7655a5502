package apply

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// pointer is an address in the memory of the server, which is another in each answer.
var pointer = regexp.MustCompile(`\(?0x[0-9a-f]{6,}\)?`)

// clean returns an answer to a manifest without what is of no use to a reader and, if there is content of a Secret in
// the manifest, without the words of the server.
func (c Client) clean(manifest *unstructured.Unstructured, err error) error {
	var answer apierrors.APIStatus
	switch {
	case runtime.IsMissingKind(err), runtime.IsMissingVersion(err):
		return errors.New("the response of the server is not a resource") // The error repeats it.
	case isSecret(manifest.Object), len(c.SecretFields) > 0:
		return HideSecret(err, manifest.Object, c.SecretFields...)
	case !errors.As(err, &answer):
		return err
	}
	s := answer.Status()
	s.Message = pointer.ReplaceAllString(s.Message, "(pointer)")
	return &apierrors.StatusError{ErrStatus: s}
}

func isSecret(content map[string]any) bool {
	return content["apiVersion"] == "v1" && content["kind"] == "Secret"
}

// IsQuotaExceeded reports whether a server has refused to write a resource because a ResourceQuota has no room for it.
// Only the text tells that from a denied right, which names the user: that may be called anything.
func IsQuotaExceeded(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), `is forbidden: User "`) &&
		strings.Contains(err.Error(), "exceeded quota")
}

// IsKindTerminating reports whether a server has refused to create a custom resource because its
// CustomResourceDefinition is being deleted. Only the text distinguishes that from a denied right.
func IsKindTerminating(err error) bool {
	return apierrors.IsForbidden(err) && strings.HasSuffix(err.Error(), "custom resource definition is terminating")
}

// HideSecret returns an answer to a write without the words of the server, which may repeat a value of a Secret, or
// what the server has made of one. Left are its reason and the fields that it is about, as far as they are in what was
// sent: content is that, nil if it is not known, and secretFields are those that hold content of Secrets.
func HideSecret(err error, content map[string]any, secretFields ...string) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	s := answer.Status()
	fields := append(unreadable(content), secretFields...)
	if s.Reason == metav1.StatusReasonUnknown && len(fields) > len(secretFields) ||
		strings.HasPrefix(s.Message, "failed to create typed patch object") { // The server does not say so.
		s.Reason, s.Code = metav1.StatusReasonBadRequest, http.StatusBadRequest
	}
	if s.Details != nil {
		d := *s.Details
		d.Causes = slices.Clone(d.Causes)
		for i, c := range d.Causes {
			if field := known(content, c.Field); field != "" {
				fields = append(fields, field)
			}
			d.Causes[i].Message = ""
		}
		s.Details = &d
	}
	s.Message = fmt.Sprintf("the server responds with reason %s%s; its message is omitted, because it may repeat "+
		"values of Secrets", s.Reason, inOurWords(s))
	if slices.Sort(fields); len(fields) > 0 {
		s.Message += ": " + strings.Join(slices.Compact(fields), ", ")
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// inOurWords returns what we know of an answer beyond its reason.
func inOurWords(s metav1.Status) string {
	err := &apierrors.StatusError{ErrStatus: s}
	switch {
	case IsQuotaExceeded(err):
		return " (exceeded quota)"
	case IsImmutable(err):
		return " (a field is immutable)"
	case apierrors.IsForbidden(err) && strings.Contains(s.Message, `is forbidden: User "`):
		return " (the user lacks the permission)"
	case apierrors.IsNotFound(err) && s.Details != nil && s.Details.Kind == "namespaces":
		return " (the namespace does not exist)"
	}
	return ""
}

// unreadable returns what is wrong with the values of a Secret, whatever a server says of them.
func unreadable(content map[string]any) (said []string) {
	if !isSecret(content) {
		return nil
	}
	data, _ := content["data"].(map[string]any)
	for k, v := range data {
		text, ok := v.(string)
		if _, err := base64.StdEncoding.DecodeString(text); !ok && v != nil || err != nil {
			said = append(said, fieldpath.Segments{fieldpath.Field("data"), fieldpath.Field(k)}.String()+" is not base64")
		}
	}
	plain, _ := content["stringData"].(map[string]any)
	for k := range plain { // Prepare has made data of each that is a string.
		said = append(said, fieldpath.Segments{fieldpath.Field("stringData"), fieldpath.Field(k)}.String()+" is not a string")
	}
	return said
}

// known returns the name of a field as far as it is in a manifest: servers and webhooks name what they like.
func known(content map[string]any, field string) string {
	at, err := fieldpath.Parse(field)
	for ; err == nil && len(at) > 0; at = at[:len(at)-1] {
		if _, err := fieldpath.Pave(content).GetValue(at.String()); err == nil {
			return at.String()
		}
	}
	return ""
}
