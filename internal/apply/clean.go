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

var (
	// pointer is an address in the memory of the server, which is another in each answer.
	pointer = regexp.MustCompile(`\(?0x[0-9a-f]{6,}\)?`)
	// denied is what a server says to whom lacks a right. It names no content.
	denied = regexp.MustCompile(`^[a-z0-9.-]+( "[^"]*")? is forbidden: User "[^"]*" cannot [a-z]+ ` +
		`resource "[a-z0-9/.-]+" in API group "[a-z0-9.-]*"( in the namespace "[^"]*"| at the cluster scope)?` +
		`(: access denied)?$`)
	// full is what a server says if a quota has no room.
	full = regexp.MustCompile(`^[a-z0-9.-]+ "[^"]*" is forbidden: exceeded quota: [a-z0-9.-]+, ` +
		`requested: [a-z0-9/.=,-]+, used: [a-z0-9/.=,-]+, limited: [a-z0-9/.=,-]+$`)
	// missing is what a server says of a resource, a namespace or a kind that does not exist.
	missing = regexp.MustCompile(`^[a-z0-9.-]+ "[a-z0-9.:-]*" not found$|` +
		`^the server could not find the requested resource$`)
	// untyped is what a server says of a manifest that does not fit the schema of its kind, up to where it repeats a
	// value.
	untyped = regexp.MustCompile(`^(failed to create typed patch object \([^)]*\)): ([.\w]*)`)
)

// private is what of a manifest no error may repeat. Its zero value is nothing.
type private struct {
	// secret says that content of a Secret is in the manifest. Of an answer only the reason and the names of fields are
	// left then, as nobody knows what a server makes of a value before it repeats it.
	secret bool
	// content is what is sent, nil if that is not known. Fields are named as far as they are in it.
	content map[string]any
	// fields of the manifest that hold content of a Secret. What is in them is not named either.
	fields []string
}

// clean returns an answer to a manifest without what is private of it.
func (c Client) clean(manifest *unstructured.Unstructured, err error) error {
	secret := isSecret(manifest.Object) || len(c.SecretFields) > 0
	return private{secret: secret, content: manifest.Object, fields: c.SecretFields}.clean(err)
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

// HideSecret returns an error whose text repeats nothing of a Secret, and whose cause is the answer to a write of that.
// content is what was sent, nil if that is not known: then no field is named either.
func HideSecret(err error, content map[string]any) error {
	if err == nil {
		return nil
	}
	return hiddenError{text: private{secret: true, content: content}.clean(err).Error(), cause: err}
}

// A hiddenError says of an answer only what is not private. Its reason and what else is known of it can still be found.
type hiddenError struct {
	text  string
	cause error
}

// Error returns the text without what is private.
func (e hiddenError) Error() string { return e.text }

// Unwrap returns the whole answer, which must not be shown.
func (e hiddenError) Unwrap() error { return e.cause }

// clean returns an answer of a server without what is of no use to a reader, and without what is private: servers quote
// the value they find wrong, and webhooks say what they like.
func (p private) clean(err error) error {
	var answer apierrors.APIStatus
	if runtime.IsMissingKind(err) || runtime.IsMissingVersion(err) {
		return errors.New("the answer of the server is no resource") // The error repeats it.
	}
	if err == nil || !errors.As(err, &answer) {
		return err
	}
	s := answer.Status()
	s.Message = pointer.ReplaceAllString(s.Message, "(pointer)")
	if p.secret {
		p.censor(&s)
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// censor takes what is private out of an answer.
func (p private) censor(s *metav1.Status) {
	if s.Reason == metav1.StatusReasonUnknown && len(p.notBase64()) > 0 { // The server cannot read it, and says no more.
		s.Reason, s.Code = metav1.StatusReasonBadRequest, http.StatusBadRequest
	}
	s.Message = p.reduce(s)
	if s.Details == nil {
		return
	}
	d := *s.Details
	d.Causes = slices.Clone(d.Causes)
	for i := range d.Causes {
		d.Causes[i].Message = ""
	}
	s.Details = &d
}

// reduce returns the reason of an answer, and the names of fields.
func (p private) reduce(s *metav1.Status) string {
	if denied.MatchString(s.Message) || full.MatchString(s.Message) ||
		s.Reason == metav1.StatusReasonNotFound && missing.MatchString(s.Message) {
		return s.Message
	}
	if parts := untyped.FindStringSubmatch(s.Message); parts != nil {
		return parts[1] + ": ." + p.known(strings.TrimPrefix(parts[2], "."))
	}
	text := fmt.Sprintf("the server answers with reason %s, and its message is left out "+
		"as it may repeat values of Secrets", s.Reason)
	if fields := p.about(s.Details); fields != "" {
		text += ": " + fields
	}
	return text
}

// about returns the names of the fields that an answer is about, and of those that make a Secret unreadable.
func (p private) about(d *metav1.StatusDetails) string {
	fields := p.notBase64()
	if d != nil {
		for _, c := range d.Causes {
			fields = append(fields, p.known(c.Field))
		}
	}
	slices.Sort(fields)
	return strings.Join(slices.DeleteFunc(slices.Compact(fields), func(f string) bool { return f == "" }), ", ")
}

// notBase64 returns what is to be said of the values that make a Secret unreadable.
func (p private) notBase64() (said []string) {
	data, _ := p.content["data"].(map[string]any)
	for k, v := range data {
		text, _ := v.(string)
		if _, err := base64.StdEncoding.DecodeString(text); err != nil && isSecret(p.content) {
			at := fieldpath.Segments{fieldpath.Field("data"), fieldpath.Field(k)}
			said = append(said, p.known(at.String())+" is not base64")
		}
	}
	return said
}

// known returns the name of a field as far as it is known not to be private: servers and webhooks name what they like,
// and the keys in a private field may be private, too.
func (p private) known(field string) string {
	at, err := fieldpath.Parse(field)
	if err != nil {
		return ""
	}
	for _, private := range p.fields {
		in, err := fieldpath.Parse(private)
		if err == nil && len(in) <= len(at) && slices.Equal(in, at[:len(in)]) {
			at = in
		}
	}
	for ; len(at) > 0; at = at[:len(at)-1] {
		if _, err := fieldpath.Pave(p.content).GetValue(at.String()); err == nil {
			return at.String()
		}
	}
	return ""
}
