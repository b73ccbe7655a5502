package diffwrite

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// FitsMost is how many bytes of an object we know of may be, for it to be written. A control plane stores 1.5 MiB by
// default; the rest is for what it adds itself, such as the managers of the fields.
const FitsMost = 1280 << 10

// tooLarge is what etcd and its clients say of a request that is too large, which API servers hand on as it is.
var tooLarge = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// IsTooLarge reports whether an answer means that an object is too large for the control plane.
func IsTooLarge(err error) bool {
	if err == nil || apierrors.IsRequestEntityTooLargeError(err) {
		return err != nil
	}
	for _, text := range tooLarge {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
