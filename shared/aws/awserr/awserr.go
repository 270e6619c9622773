// Package awserr is the one place where errors of AWS's services get a kind. Callers branch on
// fault kinds, and on Is where a code means something to one operation only.
package awserr

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"southbound/shared/fault"
)

// The codes that operations look for.
const (
	ConditionFailed      = "ConditionalCheckFailedException"
	TransactionCanceled  = "TransactionCanceledException"
	TransactionConflict  = "TransactionConflictException"
	PreconditionFailed   = "PreconditionFailed"
	ConditionalConflict  = "ConditionalRequestConflict"
	BadDigest            = "BadDigest"
	NoSuchKey            = "NoSuchKey"
	TableInUse           = "ResourceInUseException"
	QueueMissing         = "AWS.SimpleQueueService.NonExistentQueue"
	queueMissingNew      = "QueueDoesNotExist"
	QueueDeletedRecently = "AWS.SimpleQueueService.QueueDeletedRecently"
	queueDeletedNew      = "QueueDeletedRecently"
	QueueNameExists      = "QueueAlreadyExists"
	queueNameNew         = "QueueNameExists"
	// Of Lambda: something like it exists, or an update of the function is under way; a mapping is
	// in the middle of a change; and what is wrong with the request, or with what it names.
	ResourceConflict = "ResourceConflictException"
	ResourceInUse    = TableInUse
	InvalidParameter = "InvalidParameterValueException"
)

// kinds says what codes mean. What is not in it follows from the HTTP status, see byStatus.
var kinds = byCode(map[fault.Kind][]string{
	fault.NotFound: {
		"ResourceNotFoundException", NoSuchKey, "NoSuchBucket", "NotFound", QueueMissing,
		queueMissingNew, "ParameterNotFound", "ParameterVersionNotFound",
		"ParameterVersionLabelNotFound",
	},
	fault.Conflict: {
		ConditionFailed, TransactionConflict, PreconditionFailed, TableInUse, ResourceConflict,
		QueueNameExists, queueNameNew,
	},
	fault.Invalid: {
		InvalidParameter, "InvalidParameterException", "InvalidRequestException", BadDigest,
		"XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "EntityTooLarge",
	},
	fault.Denied: {
		"AccessDenied", "AccessDeniedException", "UnrecognizedClientException", "ExpiredToken",
		"ExpiredTokenException", "InvalidSignatureException", "SignatureDoesNotMatch",
		"InvalidAccessKeyId", "InvalidClientTokenId", "MissingAuthenticationToken",
		"KmsAccessDenied", "KmsDisabled", "RequestTimeTooSkewed", "AllAccessDisabled",
		"DecryptionFailure",
	},
	fault.Full: {
		"ItemCollectionSizeLimitExceededException", "LimitExceededException",
		"ServiceQuotaExceededException", "ParameterLimitExceeded",
		"ParameterMaxVersionLimitExceeded",
	},
	fault.Unavailable: {
		ConditionalConflict, "OperationAborted", "SlowDown", "RequestTimeout",
		"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
		"RequestThrottled", "TransactionInProgressException", "InternalServerError",
		"InternalError", "InternalFailure", "ServiceUnavailable", "OverLimit", "KmsThrottled",
		"KMS.ThrottlingException", QueueDeletedRecently, "TooManyRequestsException",
		"ServiceException", "ResourceNotReadyException", queueDeletedNew, "TooManyUpdates",
	},
	fault.Internal: {
		"IdempotentParameterMismatchException", "ValidationException", "SerializationException",
		"InvalidRequest", "InvalidArgument", "MalformedXML",
	},
})

// byCode returns the kind of each code.
func byCode(codes map[fault.Kind][]string) map[string]fault.Kind {
	out := map[string]fault.Kind{}
	for kind, all := range codes {
		for _, code := range all {
			out[code] = kind
		}
	}
	return out
}

// hints are for the person who has to act.
var hints = map[fault.Kind]string{
	fault.Denied: "check which credentials are in use and what their policy allows",
	fault.Full:   "a quota of the account is used up; ask for more, or remove what is not needed",
}

// Text says what AWS said, with the number of the request that its support asks for. Of other
// errors it is their text.
func Text(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err.Error()
	}
	out := api.ErrorCode()
	if m := api.ErrorMessage(); m != "" && m != out {
		out += ": " + m
	}
	var numbered interface{ ServiceRequestID() string }
	if errors.As(err, &numbered) && numbered.ServiceRequestID() != "" {
		out += " (request " + numbered.ServiceRequestID() + ")"
	}
	return out
}

// Fault returns err with a kind and an operation, or nil when err is nil. What already has a kind
// is returned as it is.
func Fault(op string, err error) error {
	var have *fault.Error
	if err == nil || errors.As(err, &have) {
		return err
	}
	kind := Kind(err)
	return &fault.Error{Kind: kind, Op: op, Err: err, Hint: hints[kind]}
}

// Kind classifies err.
func Kind(err error) fault.Kind {
	if k := fault.KindOf(err); k != fault.Unknown {
		return k
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if k, ok := kinds[api.ErrorCode()]; ok {
			return k
		}
		if k := byStatus(err); k != fault.Unknown {
			return k
		}
		if api.ErrorFault() == smithy.FaultServer {
			return fault.Unavailable
		}
		return fault.Internal
	}
	if k := byStatus(err); k != fault.Unknown {
		return k
	}
	var canceled *smithy.CanceledError
	var params smithy.InvalidParamsError
	switch {
	case errors.As(err, &canceled):
		return fault.Canceled
	case errors.As(err, &params):
		return fault.Internal
	}
	return fault.Unavailable // no answer: the network, or a name that does not resolve
}

// byStatus classifies by the status of the response, for services and proxies that send no code we
// know.
func byStatus(err error) fault.Kind {
	var res *smithyhttp.ResponseError
	if !errors.As(err, &res) {
		return fault.Unknown
	}
	switch code := res.HTTPStatusCode(); {
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return fault.Unavailable
	case code == http.StatusNotFound:
		return fault.NotFound
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		return fault.Denied
	case code == http.StatusConflict:
		return fault.Unavailable
	case code == http.StatusPreconditionFailed:
		return fault.Conflict
	}
	return fault.Unknown
}

// Code returns the service's code of err, or "".
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Is reports whether err has one of the codes.
func Is(err error, codes ...string) bool {
	code := Code(err)
	return code != "" && slices.Contains(codes, code)
}

// NoQueue reports whether err says that a queue does not exist, in either of the codes in use.
func NoQueue(err error) bool { return Is(err, QueueMissing, queueMissingNew) }

// QueueExists reports whether err says that a queue exists with other attributes, in either of the
// codes in use.
func QueueExists(err error) bool { return Is(err, QueueNameExists, queueNameNew) }

// Passing reports whether err may pass by itself, so that the same request can be made again. A
// context that has ended does not.
func Passing(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) && Kind(err) == fault.Unavailable
}
