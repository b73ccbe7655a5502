package apply

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	// pointer is an address in the memory of the server, which is another in each answer.
	pointer = regexp.MustCompile(`\(?0x[0-9a-f]{6,}\)?`)
	// denied is what a server says to whom lacks a right. It names no content.
	denied = regexp.MustCompile(`^[a-z.]+ "[^"]*" is forbidden: User "[^"]*" cannot [a-z]+ resource "[a-z]+" in API group ""( in the namespace "[^"]*"| at the cluster scope)?$`)
	// untyped is what a server says of a manifest that does not fit the schema of its kind, up to where it repeats a value.
	untyped = regexp.MustCompile(`^failed to create typed patch object \([^)]*\): [.\w]*`)
)

// clean returns an answer of a server without what is of no use to a reader, and without what it repeats of a Secret: servers quote the
// value they find wrong, and webhooks say what they like.
func clean(err error, manifest *unstructured.Unstructured) error {
	var answer apierrors.APIStatus
	if err == nil || !errors.As(err, &answer) {
		return err
	}
	s := answer.Status()
	s.Message = pointer.ReplaceAllString(s.Message, "(pointer)")
	if manifest.GetAPIVersion() == "v1" && manifest.GetKind() == "Secret" {
		censor(&s)
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// censor takes what may repeat the content of a Secret out of an answer. What is left are the reason and the names of fields.
func censor(s *metav1.Status) {
	if s.Reason == metav1.StatusReasonNotFound || denied.MatchString(s.Message) {
		return
	}
	message := untyped.FindString(s.Message)
	if message == "" {
		message = strings.TrimSuffix(fmt.Sprintf("the server answers with reason %s for the Secret", s.Reason)+about(s.Details), ": ")
	}
	s.Message = message
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

// about returns the names of the fields that an answer is about.
func about(d *metav1.StatusDetails) string {
	if d == nil {
		return ""
	}
	var fields []string
	for _, c := range d.Causes {
		if c.Field != "" {
			fields = append(fields, c.Field)
		}
	}
	slices.Sort(fields)
	return ": " + strings.Join(slices.Compact(fields), ", ")
}
