// fmt's functions, compiled here once: from its headers alone, each file that formats a text would
// take two seconds more.
#include <fmt/format-inl.h>

// What fmt's headers say is instantiated elsewhere.
template std::locale fmt::locale_ref::get<std::locale>() const;
template auto fmt::detail::thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl(locale_ref) -> char;
