#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/image.hpp"

namespace harness::workloads {
namespace {

constexpr int kRunLengths = 3;  // Z_RLE of zlib

/// What libpng's callbacks see. Plain data only: libpng leaves by longjmp, which runs no
/// destructor.
struct Session {
  const char* input = nullptr;
  std::size_t left = 0;
  std::string* output = nullptr;
  bool out_of_memory = false;
  char message[160] = {};
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* session = static_cast<Session*>(png_get_error_ptr(png));
  std::strncpy(session->message, message, sizeof session->message - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep data, std::size_t size) {
  auto* session = static_cast<Session*>(png_get_io_ptr(png));
  if (size > session->left) png_error(png, "the data ends early");
  std::memcpy(data, session->input, size);
  session->input += size;
  session->left -= size;
}

void on_write(png_structp png, png_bytep data, std::size_t size) {
  auto* session = static_cast<Session*>(png_get_io_ptr(png));
  try {
    session->output->append(reinterpret_cast<const char*>(data), size);
  } catch (...) {
    session->out_of_memory = true;
  }
  if (session->out_of_memory) png_error(png, "out of memory");
}

void on_flush(png_structp) {}

/// Reads up to the pixels. False after an error.
bool read_header(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);  // our own limit follows, with a better message
  png_set_chunk_malloc_max(png, 8 << 20);
  png_read_info(png, info);
  return true;
}

/// Asks for 8-bit RGB and reads it. False after an error. Takes memory for whole rows, so the size
/// must have been checked.
bool read_rows(png_structp png, png_infop info, png_bytepp rows, std::size_t row_bytes) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const int depth = png_get_bit_depth(png, info);
  const int colour = png_get_color_type(png, info);
  png_set_strip_16(png);
  png_set_packing(png);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  if ((colour & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != row_bytes) png_error(png, "unexpected layout");
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

bool write_all(png_structp png, png_infop info, const Image& image, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_filter(png, 0, PNG_ALL_FILTERS);
  png_set_compression_level(png, 6);
  // Smooth pictures, filtered, are runs of small numbers: twice as fast for a tenth more bytes.
  png_set_compression_strategy(png, kRunLengths);
  png_write_info(png, info);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

std::vector<png_bytep> row_pointers(Image& image) {
  std::vector<png_bytep> rows(static_cast<std::size_t>(image.height));
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * 3;
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * row_bytes;
  return rows;
}

class Reader {
 public:
  explicit Reader(Session* session)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, session, on_error, on_warning)),
        info_(png_ != nullptr ? png_create_info_struct(png_) : nullptr) {
    if (png_ != nullptr) png_set_read_fn(png_, session, on_read);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

 private:
  png_structp png_;
  png_infop info_;
};

class Writer {
 public:
  explicit Writer(Session* session)
      : png_(png_create_write_struct(PNG_LIBPNG_VER_STRING, session, on_error, on_warning)),
        info_(png_ != nullptr ? png_create_info_struct(png_) : nullptr) {
    if (png_ != nullptr) png_set_write_fn(png_, session, on_write, on_flush);
  }
  ~Writer() { png_destroy_write_struct(&png_, &info_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

 private:
  png_structp png_;
  png_infop info_;
};

}  // namespace

Image decode_png(std::string_view content, const std::string& name) {
  Session session;
  session.input = content.data();
  session.left = content.size();
  const Reader reader(&session);
  if (reader.info() == nullptr) throw Error(name, "the PNG decoder cannot start");
  const auto fail = [&] {
    return Error(name, std::string("truncated or damaged PNG data: ") + printable(session.message));
  };
  if (!read_header(reader.png(), reader.info())) throw fail();
  Image image = make_image(png_get_image_width(reader.png(), reader.info()),
                           png_get_image_height(reader.png(), reader.info()), name);
  std::vector<png_bytep> rows = row_pointers(image);
  if (!read_rows(reader.png(), reader.info(), rows.data(),
                 static_cast<std::size_t>(image.width) * 3)) {
    throw fail();
  }
  return image;
}

std::string encode_png(const Image& image) {
  std::string out;
  Session session;
  session.output = &out;
  const Writer writer(&session);
  if (writer.info() == nullptr) throw Error("PNG", "the encoder cannot start");
  // libpng's write calls take rows that are not const and leave them alone.
  std::vector<png_bytep> rows = row_pointers(const_cast<Image&>(image));
  if (!write_all(writer.png(), writer.info(), image, rows.data())) {
    throw Error("PNG", std::string("cannot encode: ") + printable(session.message));
  }
  return out;
}

}  // namespace harness::workloads
